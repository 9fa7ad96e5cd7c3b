//! The rows of services, endpoints and ingresses.

use serde_json::Value;

use super::cells::{age, count, int_of, items, labels, name, or, or_none, selector, str_of, with_more};
use super::column::{AGE, NAME, Printer, SELECTOR, text};

pub(super) static SERVICES: Printer = Printer {
    columns: &[
        NAME,
        text("Type", "The way in which clients reach the service."),
        text("Cluster-IP", "The address inside the cluster."),
        text("External-IP", "The addresses outside of the cluster."),
        text("Port(s)", "The ports of the service, with the ports of the nodes."),
        AGE,
        SELECTOR,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        let address = items(&spec["clusterIPs"]).next().unwrap_or(&spec["clusterIP"]);
        let ports: Vec<_> = items(&spec["ports"]).map(port).collect();
        let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
        vec![
            name(object),
            or(&spec["type"], "ClusterIP").into(),
            or_none(address).into(),
            external_address(object).into(),
            ports.into(),
            age(object, now),
            labels(&spec["selector"]).into(),
        ]
    },
};

fn port(port: &Value) -> String {
    let (number, protocol) = (int_of(&port["port"]), or(&port["protocol"], "TCP"));
    match int_of(&port["nodePort"]) {
        0 => format!("{number}/{protocol}"),
        node => format!("{number}:{node}/{protocol}"),
    }
}

/// The sorted addresses of a load balancer.
fn balancer(status: &Value) -> Vec<String> {
    let mut addresses: Vec<String> = items(&status["ingress"])
        .map(|ingress| or(&ingress["ip"], str_of(&ingress["hostname"])).to_owned())
        .collect();
    addresses.retain(|address| !address.is_empty());
    addresses.sort();
    addresses.dedup();
    addresses
}

fn external_address(service: &Value) -> String {
    let spec = &service["spec"];
    let given = items(&spec["externalIPs"]).map(|address| str_of(address).to_owned());
    match or(&spec["type"], "ClusterIP") {
        "ExternalName" => str_of(&spec["externalName"]).to_owned(),
        "LoadBalancer" => {
            let all: Vec<_> = balancer(&service["status"]["loadBalancer"]).into_iter().chain(given).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ClusterIP" | "NodePort" if given.len() == 0 => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => given.collect::<Vec<_>>().join(","),
        _ => "<unknown>".to_owned(),
    }
}

pub(super) static ENDPOINTS: Printer = Printer {
    columns: &[NAME, text("Endpoints", "The addresses with their ports."), AGE],
    cells: |object, now| vec![name(object), endpoints(&object["subsets"]).into(), age(object, now)],
};

fn endpoints(subsets: &Value) -> String {
    if count(subsets) == 0 {
        return "<none>".to_owned();
    }
    let mut list = Vec::new();
    for subset in items(subsets) {
        let addresses = || items(&subset["addresses"]).map(|address| str_of(&address["ip"]));
        if count(&subset["ports"]) == 0 {
            list.extend(addresses().map(str::to_owned));
        }
        for port in items(&subset["ports"]) {
            let port = int_of(&port["port"]);
            list.extend(addresses().map(|address| match address.contains(':') {
                true => format!("[{address}]:{port}"),
                false => format!("{address}:{port}"),
            }));
        }
    }
    with_more(&list, 3)
}

pub(super) static ENDPOINT_SLICES: Printer = Printer {
    columns: &[
        NAME,
        text("AddressType", "The type of the addresses."),
        text("Ports", "The ports of every endpoint."),
        text("Endpoints", "The addresses."),
        AGE,
    ],
    cells: |object, now| {
        let ports: Vec<_> = items(&object["ports"])
            .map(|port| port["port"].as_i64().map_or_else(|| "*".to_owned(), |port| port.to_string()))
            .collect();
        let addresses: Vec<_> = items(&object["endpoints"])
            .flat_map(|endpoint| items(&endpoint["addresses"]))
            .map(|address| str_of(address).to_owned())
            .collect();
        let shown = |list: &[String]| if list.is_empty() { "<unset>".to_owned() } else { with_more(list, 3) };
        vec![
            name(object),
            str_of(&object["addressType"]).into(),
            shown(&ports).into(),
            shown(&addresses).into(),
            age(object, now),
        ]
    },
};

pub(super) static INGRESSES: Printer = Printer {
    columns: &[
        NAME,
        text("Class", "The class of the controller that serves the ingress."),
        text("Hosts", "The hosts of the rules."),
        text("Address", "The addresses of the ingress."),
        text("Ports", "The ports of the ingress."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        let ports = if count(&spec["tls"]) > 0 { "80, 443" } else { "80" };
        vec![
            name(object),
            or_none(&spec["ingressClassName"]).into(),
            hosts(&spec["rules"]).into(),
            balancer(&object["status"]["loadBalancer"]).join(",").into(),
            ports.into(),
            age(object, now),
        ]
    },
};

fn hosts(rules: &Value) -> String {
    const MOST: usize = 3;
    let (mut list, mut more) = (Vec::new(), false);
    for rule in items(rules) {
        more |= list.len() == MOST;
        let host = str_of(&rule["host"]);
        if !more && !host.is_empty() {
            list.push(host);
        }
    }
    match list.join(",") {
        shown if shown.is_empty() => "*".to_owned(),
        shown if more => format!("{shown} + {} more...", items(rules).len() - MOST),
        shown => shown,
    }
}

pub(super) static INGRESS_CLASSES: Printer = Printer {
    columns: &[
        NAME,
        text("Controller", "The controller that serves the class."),
        text("Parameters", "An object that configures the controller."),
        AGE,
    ],
    cells: |object, now| {
        let parameters = match &object["spec"]["parameters"] {
            Value::Null => "<none>".to_owned(),
            parameters => {
                let kind = str_of(&parameters["kind"]);
                let group =
                    parameters["apiGroup"].as_str().map(|group| format!(".{group}")).unwrap_or_default();
                format!("{kind}{group}/{}", str_of(&parameters["name"]))
            }
        };
        vec![name(object), str_of(&object["spec"]["controller"]).into(), parameters.into(), age(object, now)]
    },
};

pub(super) static NETWORK_POLICIES: Printer = Printer {
    columns: &[NAME, text("Pod-Selector", "The labels of the pods that the policy selects."), AGE],
    cells: |object, now| {
        vec![name(object), selector(&object["spec"]["podSelector"]).into(), age(object, now)]
    },
};

pub(super) static ADDRESSES: Printer = Printer {
    columns: &[NAME, text("ParentRef", "The object that has the address.")],
    cells: |object, _| {
        let parent = &object["spec"]["parentRef"];
        let fields = ["group", "resource", "namespace", "name"].map(|field| str_of(&parent[field]));
        let shown = fields.into_iter().filter(|field| !field.is_empty()).collect::<Vec<_>>().join("/");
        vec![name(object), shown.into()]
    },
};

pub(super) static SERVICE_RANGES: Printer = Printer {
    columns: &[NAME, text("CIDRs", "The ranges that addresses of services are taken from."), AGE],
    cells: |object, now| {
        let ranges: Vec<_> = items(&object["spec"]["cidrs"]).map(str_of).collect();
        vec![name(object), ranges.join(",").into(), age(object, now)]
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_external_address_of_a_service_depends_on_its_type() {
        let shown = |spec: Value, ingress: Value| {
            external_address(&json!({"spec": spec, "status": {"loadBalancer": {"ingress": ingress}}}))
        };
        assert_eq!(shown(json!({"type": "ClusterIP"}), Value::Null), "<none>");
        assert_eq!(shown(json!({"type": "NodePort", "externalIPs": ["1.2.3.4"]}), Value::Null), "1.2.3.4");
        assert_eq!(shown(json!({"type": "LoadBalancer"}), Value::Null), "<pending>");
        assert_eq!(shown(json!({"type": "LoadBalancer"}), json!([{"ip": "2"}, {"hostname": "1"}])), "1,2");
        assert_eq!(shown(json!({"type": "ExternalName", "externalName": "x.y"}), Value::Null), "x.y");
    }

    #[test]
    fn only_the_first_addresses_are_shown() {
        let subsets = json!([{"ports": [{"port": 80}], "addresses": [{"ip": "a"}, {"ip": "b"}, {"ip": "::1"}, {"ip": "d"}]}]);
        assert_eq!(endpoints(&subsets), "a:80,b:80,[::1]:80 + 1 more...");
        assert_eq!(
            hosts(&json!([{"host": "a"}, {}, {"host": "b"}, {"host": "c"}, {"host": "d"}])),
            "a,b,c + 2 more..."
        );
        assert_eq!(hosts(&json!([{}])), "*");
    }
}
