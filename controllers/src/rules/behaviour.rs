//! What a release does otherwise than another, as named switches.
//!
//! The reference is release 1.5 with the bugs taken out. A switch turns one difference on; its doc comment says from
//! which release on the real system has it.

use super::Rules;

/// The differences between releases that the rules know. The default is the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// How replicas are divided by weight.
    pub division: Division,
    /// Of clusters with the same score, the one with more room ranks first, before the name decides; as from 1.6
    /// (`pkg/scheduler/core/spreadconstraint/util.go`).
    pub ranks_by_room: bool,
    /// The condition `Scheduled` says what went wrong: `Success`, `NoClusterFit`, `Unschedulable`, `SchedulerError`;
    /// as from 1.7 (`pkg/apis/work/v1alpha2/binding_types.go`). Before, only `BindingScheduled` and
    /// `BindingFailedScheduling`.
    pub tells_reasons: bool,
}

/// How replicas are divided by weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// Shares rounded down, and what is left over one by one to the heaviest; until 1.15.
    #[default]
    LargestWeight,
    /// Seat by seat (Webster's method): whoever has the most weight for each half seat more; as from 1.16 (#6793).
    Webster,
}

impl Behaviour {
    /// As the real system in this release (`1.13.10`, `v1.18.2`), as far as the switches go.
    #[must_use]
    pub fn of(release: &str) -> Self {
        let mut numbers =
            release.trim_start_matches('v').split('.').map_while(|part| part.parse::<u32>().ok());
        let release = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(5));
        Self {
            division: if release >= (1, 16) { Division::Webster } else { Division::LargestWeight },
            ranks_by_room: release >= (1, 6),
            tells_reasons: release >= (1, 7),
        }
    }
}

/// The reference's rules with another behaviour.
#[derive(Clone, Copy, Debug)]
pub struct Release(pub Behaviour);

impl Rules for Release {
    fn behaviour(&self) -> Behaviour {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_on_from_its_release_on() {
        let cases = [
            ("v1.5.0", Division::LargestWeight, false, false),
            ("1.6.1", Division::LargestWeight, true, false),
            ("1.13.10", Division::LargestWeight, true, true),
            ("v1.18.2", Division::Webster, true, true),
        ];
        for (release, division, ranks_by_room, tells_reasons) in cases {
            assert_eq!(
                Behaviour::of(release),
                Behaviour { division, ranks_by_room, tells_reasons },
                "{release}"
            );
        }
        assert_eq!(Behaviour::of("1.5.0"), Behaviour::default());
    }
}
