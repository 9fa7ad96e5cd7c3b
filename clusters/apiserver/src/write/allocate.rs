//! Allocates the addresses and node ports of services.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use capsize_sorted::CollectSorted;
use rand::RngExt;
use serde_json::{Value, json};

use capsize_clock::Stream;

use crate::http::failure::Cause;
use crate::kind::object::child;

/// The network of the service addresses: 10.96.0.0/16 except its first and last address.
const NETWORK: u32 = u32::from_be_bytes([10, 96, 0, 0]);
const ADDRESSES: u32 = 1 << 16;
const PORTS: std::ops::RangeInclusive<u16> = 30_000..=32_767;
/// The number of random candidates before the first free number is taken.
const ATTEMPTS: usize = 16;

/// The addresses and node ports that are in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocations {
    addresses: BTreeSet<u32>,
    ports: BTreeSet<u16>,
}

impl Allocations {
    /// Records the change of a service from `before` to `after`.
    pub(crate) fn update(&mut self, before: Option<&Value>, after: Option<&Value>) {
        if let Some(before) = before {
            for address in addresses(before) {
                self.addresses.remove(&address);
            }
            for port in ports(before) {
                self.ports.remove(&port);
            }
        }
        if let Some(after) = after {
            self.addresses.extend(addresses(after));
            self.ports.extend(ports(after));
        }
    }

    /// Assigns addresses and ports to a service. They are recorded only when the service is stored.
    ///
    /// # Errors
    /// The cause if the service requests an unavailable value, or none is left.
    pub(crate) fn assign(
        &self,
        service: &mut Value,
        old: Option<&Value>,
        chance: &mut Stream,
    ) -> Result<(), Cause> {
        let spec = child(service, "spec");
        let kind = spec["type"].as_str().unwrap_or("ClusterIP").to_owned();
        if kind == "ExternalName" {
            if old.is_some_and(|old| old["spec"]["type"] != "ExternalName") {
                let fields = spec.as_object_mut();
                let gone =
                    ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"];
                fields
                    .into_iter()
                    .for_each(|fields| fields.retain(|field, _| !gone.contains(&field.as_str())));
            }
            return Ok(());
        }
        self.address(spec, old, chance)?;
        self.node_ports(spec, &kind, old, chance)
    }

    fn address(&self, spec: &mut Value, old: Option<&Value>, chance: &mut Stream) -> Result<(), Cause> {
        let given =
            spec["clusterIP"].as_str().or(spec["clusterIPs"][0].as_str()).unwrap_or_default().to_owned();
        let kept = old.is_some_and(|old| !given.is_empty() && old["spec"]["clusterIP"] == given.as_str());
        let address = match given.as_str() {
            "" => self.free_address(chance)?,
            "None" => given,
            _ if kept => given,
            _ => {
                let invalid = |why: &str| {
                    let detail = format!("failed to allocate IP {given}: {why}");
                    Cause::invalid("spec.clusterIPs", &json!([given]), &detail)
                };
                let number = given.parse::<Ipv4Addr>().map(u32::from).ok();
                match number.filter(|number| (NETWORK + 1..NETWORK + ADDRESSES - 1).contains(number)) {
                    None => {
                        let range = "The range of valid IPs is 10.96.0.0/16";
                        return Err(invalid(&format!(
                            "the provided IP ({given}) is not in the valid range. {range}"
                        )));
                    }
                    Some(number) if self.addresses.contains(&number) => {
                        return Err(invalid("provided IP is already allocated"));
                    }
                    Some(_) => given,
                }
            }
        };
        spec["clusterIP"] = address.as_str().into();
        let set = |spec: &mut Value, field: &str, value: Value| {
            if spec[field].is_null() || spec[field] == json!([]) {
                spec[field] = value;
            }
        };
        set(spec, "clusterIPs", json!([address]));
        set(spec, "ipFamilies", json!(["IPv4"]));
        set(spec, "ipFamilyPolicy", "SingleStack".into());
        Ok(())
    }

    fn free_address(&self, chance: &mut Stream) -> Result<String, Cause> {
        let drawn = (0..ATTEMPTS).map(|_| NETWORK + chance.random_range(2..ADDRESSES - 1));
        let mut free =
            drawn.chain(NETWORK + 2..NETWORK + ADDRESSES - 1).filter(|it| !self.addresses.contains(it));
        let free = free.next().map(|address| Ipv4Addr::from(address).to_string());
        free.ok_or_else(|| full("spec.clusterIPs".into(), "failed to allocate a serviceIP: range is full"))
    }

    fn node_ports(
        &self,
        spec: &mut Value,
        kind: &str,
        old: Option<&Value>,
        chance: &mut Stream,
    ) -> Result<(), Cause> {
        let balanced = kind == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != false;
        let mut taken: BTreeSet<u16> = BTreeSet::new();
        let had: BTreeSet<u16> = old.into_iter().flat_map(ports).collect_sorted();
        let mut listed = match spec.get_mut("ports").map(Value::take) {
            Some(Value::Array(listed)) => listed,
            other => {
                if let Some(other) = other {
                    spec["ports"] = other;
                }
                return Ok(());
            }
        };
        let mut failed = Ok(());
        for (index, port) in listed.iter_mut().enumerate().filter(|(_, port)| port.is_object()) {
            let given = port["nodePort"].as_i64().filter(|number| *number != 0);
            let path = format!("spec.ports[{index}].nodePort");
            match given {
                Some(_) if kind == "ClusterIP" && old.is_none() => {
                    let detail = "may not be used when `type` is 'ClusterIP'";
                    failed = Err(Cause::forbidden(path, detail));
                }
                Some(_) if kind == "ClusterIP" => {
                    port.as_object_mut().map(|fields| fields.remove("nodePort"));
                }
                Some(number) => match u16::try_from(number).ok().filter(|number| PORTS.contains(number)) {
                    None => {
                        let detail = "provided port is not in the valid range. The range of valid ports is 30000-32767";
                        failed = Err(Cause::invalid(path, &number.into(), detail));
                    }
                    Some(number) if self.ports.contains(&number) && !had.contains(&number) => {
                        failed =
                            Err(Cause::invalid(path, &number.into(), "provided port is already allocated"));
                    }
                    Some(number) => {
                        taken.insert(number);
                    }
                },
                None if kind == "NodePort" || balanced => {
                    let before =
                        old.and_then(|old| same_port(old, port)).filter(|number| !taken.contains(number));
                    let drawn = (0..ATTEMPTS).map(|_| chance.random_range(PORTS));
                    let mut free = drawn
                        .chain(PORTS)
                        .filter(|number| !self.ports.contains(number) && !taken.contains(number));
                    match before.or_else(|| free.next()) {
                        Some(number) => {
                            taken.insert(number);
                            port["nodePort"] = number.into();
                        }
                        None => failed = Err(full(path, "failed to allocate a nodePort: range is full")),
                    }
                }
                None => {}
            }
        }
        spec["ports"] = Value::Array(listed);
        failed
    }
}

fn full(path: String, message: &str) -> Cause {
    Cause::new("InternalError", path, message.into())
}

/// The previous node port of the same service port.
fn same_port(old: &Value, port: &Value) -> Option<u16> {
    let listed = old["spec"]["ports"].as_array().into_iter().flatten();
    let mut same =
        listed.filter(|known| known["port"] == port["port"] && known["protocol"] == port["protocol"]);
    same.find_map(|known| u16::try_from(known["nodePort"].as_i64()?).ok())
}

fn addresses(service: &Value) -> impl Iterator<Item = u32> {
    let listed = service["spec"]["clusterIPs"].as_array().into_iter().flatten();
    listed.filter_map(|address| address.as_str()?.parse::<Ipv4Addr>().ok()).map(u32::from)
}

fn ports(service: &Value) -> impl Iterator<Item = u16> {
    let listed = service["spec"]["ports"].as_array().into_iter().flatten();
    listed.filter_map(|port| u16::try_from(port["nodePort"].as_i64()?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use capsize_clock::Seed;

    fn service(spec: Value) -> Value {
        json!({"spec": spec})
    }

    #[test]
    fn a_service_gets_free_values_and_releases_them() {
        let (mut allocated, mut chance) = (Allocations::default(), Seed(1).stream("ip"));
        let mut first = service(json!({"type": "NodePort", "ports": [{"port": 80}]}));
        allocated.assign(&mut first, None, &mut chance).unwrap();
        allocated.update(None, Some(&first));
        let same = |field: Value| service(json!({"type": "NodePort", "clusterIP": field, "ports": []}));
        let mut second = same(first["spec"]["clusterIP"].clone());
        assert!(
            allocated
                .assign(&mut second, None, &mut chance)
                .unwrap_err()
                .message
                .contains("already allocated")
        );
        let port = first["spec"]["ports"][0]["nodePort"].clone();
        let mut third = service(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}));
        assert!(allocated.assign(&mut third, None, &mut chance).is_err());
        allocated.update(Some(&first), None);
        allocated.assign(&mut second, None, &mut chance).unwrap();
        allocated.assign(&mut third, None, &mut chance).unwrap();
    }

    #[test]
    fn an_address_or_port_out_of_range_is_refused() {
        let (allocated, mut chance) = (Allocations::default(), Seed(1).stream("ip"));
        let specs = [
            json!({"clusterIP": "192.168.0.1", "ports": []}),
            json!({"clusterIP": "10.96.0.0", "ports": []}),
            json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}),
            json!({"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30_001}]}),
        ];
        for spec in specs {
            assert!(allocated.assign(&mut service(spec.clone()), None, &mut chance).is_err(), "{spec}");
        }
        let mut headless = service(json!({"clusterIP": "None"}));
        allocated.assign(&mut headless, None, &mut chance).unwrap();
        assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
    }
}
