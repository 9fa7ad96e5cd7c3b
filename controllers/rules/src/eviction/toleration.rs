//! Which taints are tolerated, and until when.
//!
//! karmada-io/karmada `pkg/controllers/cluster/taint_manager.go` (`needEviction`), `pkg/util/helper/taint.go`;
//! matching as in k8s.io/component-helpers `scheduling/corev1`.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Taint, Toleration};

use crate::api::NO_EXECUTE;

/// When the taints of a cluster evict a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionTime {
    /// Now: there is a taint that the workload does not tolerate.
    AtOnce,
    /// When the first of its tolerations expires.
    At(Timestamp),
    /// Never: it tolerates all taints without a limit, or there are none.
    Never,
}

/// Whether the toleration matches this taint.
#[must_use]
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let exists = toleration.operator.as_deref() == Some("Exists");
    let same_value =
        || toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default();
    (effect.is_empty() || effect == taint.effect)
        && (key.is_empty() || key == taint.key)
        && (exists || same_value())
}

/// Returns when a workload with these tolerations must leave a cluster with these taints.
///
/// Of several tolerations for one taint, only the first in the list counts. The toleration of a taint without a time
/// stamp never expires.
#[must_use]
pub fn eviction_due(taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime {
    let mut due = EvictionTime::Never;
    for taint in taints.iter().filter(|taint| taint.effect == NO_EXECUTE) {
        let Some(toleration) = tolerations.iter().find(|toleration| tolerates(toleration, taint)) else {
            return EvictionTime::AtOnce;
        };
        let (Some(added), Some(seconds)) = (&taint.time_added, toleration.toleration_seconds) else {
            continue;
        };
        let patience = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let end = added.0.saturating_add(patience).unwrap_or(Timestamp::MAX);
        due = match due {
            EvictionTime::At(earlier) if earlier <= end => due,
            _ => EvictionTime::At(end),
        };
    }
    due
}

/// Whether a workload uses up part of the rate of the taint manager if evictions are rate limited.
/// A workload that never has to leave uses up nothing, whatever the taints are (since 1.18.2).
#[must_use]
pub fn counts_against_eviction_rate(_taints: &[Taint], due: EvictionTime) -> bool {
    due != EvictionTime::Never
}

/// Returns how long a worker of the taint manager pauses after each workload.
/// There is a pause only if evictions are rate limited (`--resource-eviction-rate`, since 1.16). The rate is per worker
/// and second. At a rate of 0 the pause is the longest possible pause
/// (`pkg/controllers/cluster/dynamic_rate_limiter.go`).
#[must_use]
pub fn eviction_pause(rate: Option<f64>) -> Duration {
    const LONGEST: Duration = Duration::from_secs(1800);
    rate.map_or(Duration::ZERO, |rate| {
        Duration::try_from_secs_f64(1.0 / rate).unwrap_or(LONGEST).min(LONGEST)
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn taint(key: &str, effect: &str, added: Option<i64>) -> Taint {
        let time_added = added.map(|second| Time(Timestamp::from_second(second).unwrap()));
        Taint { key: key.into(), effect: effect.into(), time_added, value: Some("v".into()) }
    }

    fn toleration(key: &str, operator: &str, effect: &str, seconds: Option<i64>) -> Toleration {
        Toleration {
            key: Some(key.into()),
            operator: Some(operator.into()),
            effect: Some(effect.into()),
            toleration_seconds: seconds,
            value: (operator == "Equal").then(|| "v".into()),
        }
    }

    #[test]
    fn a_toleration_matches_by_key_effect_and_value() {
        let taint = taint("k", NO_EXECUTE, None);
        let cases = [
            (toleration("k", "Exists", NO_EXECUTE, None), true),
            (toleration("k", "Exists", "", None), true),
            (toleration("", "Exists", "", None), true),
            (toleration("k", "Equal", NO_EXECUTE, None), true),
            (Toleration { value: Some("w".into()), ..toleration("k", "Equal", NO_EXECUTE, None) }, false),
            (toleration("l", "Exists", NO_EXECUTE, None), false),
            (toleration("k", "Exists", "NoSchedule", None), false),
        ];
        for (toleration, expected) in cases {
            assert_eq!(tolerates(&toleration, &taint), expected, "{toleration:?}");
        }
    }

    #[test]
    fn who_need_never_leave_takes_no_turn() {
        let dues = [EvictionTime::Never, EvictionTime::AtOnce, EvictionTime::At(Timestamp::UNIX_EPOCH)];
        assert_eq!(dues.map(|due| counts_against_eviction_rate(&[], due)), [false, true, true]);
    }

    #[test]
    fn the_pause_is_the_rate_turned_over() {
        let cases = [(None, 0), (Some(0.5), 2), (Some(0.0), 1800), (Some(0.0001), 1800)];
        for (rate, seconds) in cases {
            assert_eq!(eviction_pause(rate), Duration::from_secs(seconds), "{rate:?}");
        }
    }

    #[test]
    fn the_shortest_finite_toleration_decides() {
        let at = |second| EvictionTime::At(Timestamp::from_second(second).unwrap());
        let (a, b) = (taint("a", NO_EXECUTE, Some(100)), taint("b", NO_EXECUTE, Some(110)));
        let finite = |key, seconds| toleration(key, "Exists", NO_EXECUTE, Some(seconds));
        let forever = |key| toleration(key, "Exists", NO_EXECUTE, None);
        let cases: Vec<(&str, Vec<Taint>, Vec<Toleration>, EvictionTime)> = vec![
            ("no taint", vec![], vec![], EvictionTime::Never),
            (
                "NoSchedule evicts nobody",
                vec![taint("a", "NoSchedule", Some(100))],
                vec![],
                EvictionTime::Never,
            ),
            ("not tolerated", vec![a.clone()], vec![finite("b", 5)], EvictionTime::AtOnce),
            ("tolerated for a while", vec![a.clone()], vec![finite("a", 5)], at(105)),
            ("tolerated for ever", vec![a.clone()], vec![forever("a")], EvictionTime::Never),
            (
                "the first in the list counts",
                vec![a.clone()],
                vec![forever("a"), finite("a", 5)],
                EvictionTime::Never,
            ),
            (
                "the earlier end counts",
                vec![a.clone(), b.clone()],
                vec![finite("a", 30), finite("b", 5)],
                at(115),
            ),
            (
                "and if it comes first",
                vec![a.clone(), b.clone()],
                vec![finite("a", 5), finite("b", 30)],
                at(105),
            ),
            (
                "finite beats for ever",
                vec![a.clone(), b.clone()],
                vec![forever("a"), finite("b", 5)],
                at(115),
            ),
            ("one not tolerated beats all", vec![a, b], vec![finite("a", 30)], EvictionTime::AtOnce),
            ("no time added", vec![taint("a", NO_EXECUTE, None)], vec![finite("a", 5)], EvictionTime::Never),
        ];
        for (about, taints, tolerations, expected) in cases {
            assert_eq!(eviction_due(&taints, &tolerations), expected, "{about}");
        }
    }
}
