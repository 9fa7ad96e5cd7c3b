//! Validates services, endpoints, ingresses and network policies.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::At;
use super::labels::{labels, selector};
use super::text::{self, PORT_RANGE};
use crate::http::failure::Cause;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Validates a Service.
pub(super) fn service(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let (listed, kind) = (spec.field("ports"), spec.field("type"));
    let headless = spec.value["clusterIP"] == "None";
    let external = kind.text() == "ExternalName";
    if listed.len() == 0 && !headless && !external {
        causes.push(listed.required(""));
    }
    if external {
        external_name(&spec, causes);
    } else if headless && matches!(kind.text(), "NodePort" | "LoadBalancer") {
        let addresses = spec.field("clusterIPs");
        let detail = format!("may not be set to 'None' for {} services", kind.text());
        causes.push(addresses.item(0).invalid(&detail));
    }
    service_ports(&listed, causes);
    labels(&spec.field("selector"), causes);
    spec.field("sessionAffinity").one_of(&["ClientIP", "None"], false, causes);
    kind.one_of(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], false, causes);
    for address in spec.field("externalIPs").items() {
        ip(&address, causes);
    }
    spec.field("internalTrafficPolicy").one_of(&["Cluster", "Local"], true, causes);
    if let Some(old) = old.filter(|_| !external) {
        let (addresses, before) = (spec.field("clusterIPs"), &old["spec"]["clusterIPs"][0]);
        let kept = addresses.value[0].is_null() || addresses.value[0] == *before;
        if before.is_string() && !kept && old["spec"]["type"] != "ExternalName" {
            causes.push(addresses.item(0).invalid_shown(addresses.value, "may not change once set"));
        }
    }
}

fn external_name(spec: &At<'_>, causes: &mut Vec<Cause>) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let at = spec.field(field);
        if at.is_set() && at.value != &json!([]) {
            causes.push(at.forbidden("may not be set for ExternalName services"));
        }
    }
    let name = spec.field("externalName");
    match name.text().strip_suffix('.').unwrap_or(name.text()) {
        "" => causes.push(name.required("")),
        host => causes.extend(text::subdomain(host).iter().map(|why| name.invalid(why))),
    }
}

fn service_ports(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for port in at.items() {
        let (name, number, protocol) = (port.field("name"), port.field("port"), port.field("protocol"));
        if name.text().is_empty() && at.len() > 1 {
            causes.push(name.required(""));
        } else if !name.text().is_empty() {
            causes.extend(text::label(name.text()).iter().map(|why| name.invalid(why)));
            if !names.insert(name.text().to_owned()) {
                causes.push(name.duplicate(name.value));
            }
        }
        for field in ["port", "targetPort"] {
            let number = port.field(field);
            if number.value.as_i64().is_some_and(|number| !text::is_port(number))
                || (field == "port" && !number.is_set())
            {
                causes.push(number.invalid_shown(&number.value.as_i64().unwrap_or(0).into(), PORT_RANGE));
            } else if number.value.is_string() {
                causes.extend(text::port_name(number.text()).iter().map(|why| number.invalid(why)));
            }
        }
        protocol.one_of(&PROTOCOLS, false, causes);
        if !seen.insert((number.value.as_i64(), protocol.text().to_owned())) {
            let shown = json!({"Name": "", "Protocol": protocol.value, "AppProtocol": null, "Port": number.value,
                "TargetPort": 0, "NodePort": 0});
            causes.push(port.duplicate(&shown));
        }
    }
}

fn ip(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.text().parse::<IpAddr>().is_err() {
        causes.push(at.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
}

/// Validates an Endpoints object.
pub(super) fn endpoints(at: &At<'_>, causes: &mut Vec<Cause>) {
    for subset in at.field("subsets").items() {
        let (ready, waiting) = (subset.field("addresses"), subset.field("notReadyAddresses"));
        if ready.len() + waiting.len() == 0 {
            causes.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
        }
        ready.items().chain(waiting.items()).for_each(|address| ip(&address.field("ip"), causes));
        let ports = subset.field("ports");
        for port in ports.items() {
            if ports.len() > 1 && port.field("name").text().is_empty() {
                causes.push(port.field("name").required(""));
            }
            let number = port.field("port");
            if !text::is_port(number.value.as_i64().unwrap_or(0)) {
                causes.push(number.invalid(PORT_RANGE));
            }
            port.field("protocol").one_of(&PROTOCOLS, true, causes);
        }
    }
}

/// Validates an `EndpointSlice`.
pub(super) fn endpoint_slice(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let kind = at.field("addressType");
    kind.one_of(&["FQDN", "IPv4", "IPv6"], false, causes);
    let listed = at.field("endpoints");
    if listed.len() > 1000 {
        let message = format!("Too many: {}: must have at most 1000 items", listed.len());
        causes.push(Cause::new("FieldValueTooMany", listed.path(), message));
    }
    for endpoint in listed.items() {
        let addresses = endpoint.field("addresses");
        if addresses.len() == 0 {
            causes.push(addresses.required("must contain at least 1 address"));
        }
        if kind.text() != "FQDN" {
            addresses.items().for_each(|address| ip(&address, causes));
        }
    }
    let mut names = BTreeSet::new();
    for port in at.field("ports").items() {
        let name = port.field("name");
        if !names.insert(name.text().to_owned()) {
            causes.push(name.duplicate(name.value));
        }
        port.field("protocol").one_of(&PROTOCOLS, false, causes);
    }
    if let Some(old) = old {
        kind.immutable(&old["addressType"], causes);
    }
}

/// Validates an Ingress.
pub(super) fn ingress(at: &At<'_>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let (backend, rules) = (spec.field("defaultBackend"), spec.field("rules"));
    if rules.len() == 0 && !backend.is_set() {
        causes.push(spec.invalid_shown(rules.value, "either `defaultBackend` or `rules` must be specified"));
    }
    if backend.is_set() {
        ingress_backend(&backend, causes);
    }
    for rule in rules.items() {
        let http = rule.field("http");
        let paths = http.field("paths");
        if http.is_set() && paths.len() == 0 {
            causes.push(paths.required(""));
        }
        for path in paths.items() {
            let (kind, route) = (path.field("pathType"), path.field("path"));
            match kind.text() {
                "Exact" | "Prefix" if !route.text().starts_with('/') => {
                    causes.push(route.invalid_text("must be an absolute path"));
                }
                "Exact" | "Prefix" | "ImplementationSpecific" => {}
                "" => causes.push(kind.required("pathType must be specified")),
                _ => causes.push(kind.unsupported(&["Exact", "ImplementationSpecific", "Prefix"])),
            }
            ingress_backend(&path.field("backend"), causes);
        }
    }
}

fn ingress_backend(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (service, resource) = (at.field("service"), at.field("resource"));
    if service.is_set() == resource.is_set() {
        let detail = if service.is_set() { "cannot set both resource and service backends" } else { "" };
        causes.push(if service.is_set() { at.invalid_shown(&"".into(), detail) } else { at.required("") });
    }
    if service.is_set() && service.field("name").text().is_empty() {
        causes.push(service.field("name").required(""));
    }
    let port = service.field("port");
    if service.is_set() && port.field("name").text().is_empty() && !port.field("number").is_set() {
        causes.push(port.required("port name or number is required"));
    }
}

/// Validates a `NetworkPolicy`.
pub(super) fn policy(at: &At<'_>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    selector(&spec.field("podSelector"), causes);
    let kinds = spec.field("policyTypes");
    if kinds.len() > 2 {
        causes.push(kinds.invalid("may not specify more than two policyTypes"));
    }
    kinds.items().for_each(|kind| kind.one_of(&["Egress", "Ingress"], false, causes));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use crate::validation::builtin::problems;

    fn problem_fields(spec: Value, old: Option<Value>) -> Vec<String> {
        let mut base = json!({"type": "ClusterIP", "sessionAffinity": "None"});
        base.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let kind = builtin("", "v1", "services");
        let old = old.map(|spec| json!({"spec": spec}));
        problems(kind, &json!({"spec": base}), old.as_ref()).into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn every_problem_of_a_service_is_reported() {
        let port = |name: &str, number: i64| json!({"name": name, "port": number, "protocol": "TCP"});
        let table: [(Value, &[&str]); 7] = [
            (json!({"ports": [{"port": 80, "protocol": "TCP"}]}), &[]),
            (json!({}), &["spec.ports"]),
            (json!({"clusterIP": "None"}), &[]),
            (json!({"type": "ExternalName"}), &["spec.externalName"]),
            (json!({"ports": [port("a", 80), port("a", 81)]}), &["spec.ports[1].name"]),
            (json!({"ports": [port("a", 80), port("b", 80)]}), &["spec.ports[1]"]),
            (json!({"ports": [{"port": 0, "protocol": "TCP"}]}), &["spec.ports[0].port"]),
        ];
        for (spec, fields) in table {
            assert_eq!(problem_fields(spec.clone(), None), fields, "{spec}");
        }
    }

    #[test]
    fn the_address_of_a_service_is_immutable() {
        let spec =
            |address: &str| json!({"ports": [{"port": 80, "protocol": "TCP"}], "clusterIPs": [address]});
        assert_eq!(problem_fields(spec("10.96.0.2"), Some(spec("10.96.0.2"))), [""; 0]);
        assert_eq!(problem_fields(spec("10.96.0.3"), Some(spec("10.96.0.2"))), ["spec.clusterIPs[0]"]);
    }
}
