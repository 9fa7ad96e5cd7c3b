//! The placement that the step `placed` waits for.

use std::collections::{BTreeMap, BTreeSet};

use capsize_history::FileValue;

use crate::run::driver::{Driver, StepError};
use crate::scenario::{MemberRef, Placed, PlacedOn};

/// The placement that a step asks for, with members by name.
pub(in crate::run) struct WantedPlacement {
    exactly: Option<BTreeMap<String, Option<u64>>>,
    members: Option<usize>,
    including: BTreeSet<String>,
    excluding: BTreeSet<String>,
}

impl WantedPlacement {
    pub(in crate::run) fn new(driver: &Driver<'_>, placed: &Placed) -> Result<Self, StepError> {
        let names = |members: &[FileValue<MemberRef>]| -> Result<BTreeSet<String>, StepError> {
            members.iter().map(|member| driver.member_name(&member.value)).collect()
        };
        let exactly = match &placed.on {
            None => None,
            Some(PlacedOn::Members(members)) => {
                let named = members.iter().map(|member| Ok((driver.member_name(&member.value)?, None)));
                Some(named.collect::<Result<_, StepError>>()?)
            }
            Some(PlacedOn::Replicas(replicas)) => {
                let named = replicas.iter().map(|(member, replicas)| {
                    Ok((
                        driver.member_name(&MemberRef::Named(member.value.clone()))?,
                        Some(u64::from(*replicas)),
                    ))
                });
                Some(named.collect::<Result<_, StepError>>()?)
            }
        };
        let (including, excluding) = (names(&placed.including)?, names(&placed.excluding)?);
        Ok(Self { exactly, members: placed.members, including, excluding })
    }

    pub(in crate::run) fn holds(&self, assigned: &BTreeMap<String, u64>) -> bool {
        let exactly = self.exactly.as_ref().is_none_or(|exactly| {
            let same = |(member, replicas): (&String, &Option<u64>)| {
                assigned.get(member).is_some_and(|assigned| replicas.is_none_or(|wanted| wanted == *assigned))
            };
            exactly.len() == assigned.len() && exactly.iter().all(same)
        });
        exactly
            && self.members.is_none_or(|members| members == assigned.len())
            && self.including.iter().all(|member| assigned.contains_key(member))
            && !self.excluding.iter().any(|member| assigned.contains_key(member))
    }

    pub(in crate::run) fn text(&self) -> String {
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if let Some(exactly) = &self.exactly {
            let each = |(member, replicas): (&String, &Option<u64>)| match replicas {
                Some(replicas) => format!("{member} ({replicas})"),
                None => member.clone(),
            };
            parts.push(format!("on {}", exactly.iter().map(each).collect::<Vec<_>>().join(", ")));
        }
        parts.extend(self.members.map(|members| format!("on {members} members")));
        parts.extend((!self.including.is_empty()).then(|| format!("with {}", list(&self.including))));
        parts.extend((!self.excluding.is_empty()).then(|| format!("without {}", list(&self.excluding))));
        parts.join(", ")
    }
}
