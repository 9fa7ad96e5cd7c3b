//! Parses `--feature-gates` in the notation of the real controllers.

use std::str::FromStr;

use capsize_controllers::rules::Gates;

/// `Failover=false`: one entry of the flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateSetting {
    gate: Gate,
    on: bool,
}

/// The gates that have an effect here. All of them are beta; none is alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    AllAlpha,
    AllBeta,
    CustomizedClusterResourceModeling,
    Failover,
    GracefulEviction,
    PropagateDeps,
}

const GATES: [(&str, Gate); 6] = [
    ("AllAlpha", Gate::AllAlpha),
    ("AllBeta", Gate::AllBeta),
    ("CustomizedClusterResourceModeling", Gate::CustomizedClusterResourceModeling),
    ("Failover", Gate::Failover),
    ("GracefulEviction", Gate::GracefulEviction),
    ("PropagateDeps", Gate::PropagateDeps),
];

impl FromStr for GateSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write a gate like Failover=false")?;
        let (_, gate) = GATES.into_iter().find(|(known, _)| *known == name).ok_or_else(|| {
            format!("there is no gate `{name}`; there are: {}", GATES.map(|(name, _)| name).join(", "))
        })?;
        let on = value.parse().map_err(|_| format!("`{name}` is either true or false"))?;
        Ok(Self { gate, on })
    }
}

/// The gates after all settings. A gate that is named overrides `AllBeta`, whatever the order.
pub(crate) fn resolve(settings: &[GateSetting]) -> Gates {
    let last = |gate| settings.iter().rev().find(|setting| setting.gate == gate).map(|setting| setting.on);
    let set = |gate, default| last(gate).or(last(Gate::AllBeta)).unwrap_or(default);
    let default = Gates::default();
    Gates {
        customized_cluster_resource_modeling: set(
            Gate::CustomizedClusterResourceModeling,
            default.customized_cluster_resource_modeling,
        ),
        failover: set(Gate::Failover, default.failover),
        graceful_eviction: set(Gate::GracefulEviction, default.graceful_eviction),
        propagate_deps: set(Gate::PropagateDeps, default.propagate_deps),
        ..default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(texts: &[&str]) -> Gates {
        resolve(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn a_named_gate_overrides_its_stage() {
        let off = Gates {
            customized_cluster_resource_modeling: false,
            failover: false,
            graceful_eviction: false,
            propagate_deps: false,
            ..Gates::default()
        };
        assert_eq!(gates(&[]), Gates::default());
        assert_eq!(gates(&["AllAlpha=false"]), Gates::default());
        assert_eq!(gates(&["AllBeta=false"]), off);
        assert_eq!(gates(&["Failover=true", "AllBeta=false"]), Gates { failover: true, ..off });
        assert_eq!(gates(&["Failover=false", "Failover=true"]), Gates::default());
    }

    #[test]
    fn an_unknown_gate_is_refused_with_the_list_of_gates() {
        for (text, reason) in [
            ("Failover", "write a gate like Failover=false"),
            ("Failover=yes", "`Failover` is either true or false"),
            (
                "Fail=true",
                "there is no gate `Fail`; there are: AllAlpha, AllBeta, CustomizedClusterResourceModeling, Failover, \
                 GracefulEviction, PropagateDeps",
            ),
        ] {
            assert_eq!(text.parse::<GateSetting>(), Err(reason.to_owned()));
        }
    }
}
