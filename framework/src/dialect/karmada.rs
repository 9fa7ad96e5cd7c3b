//! Karmada's objects: Cluster, (Cluster)ResourceBinding, Work, and what the members' own APIs show.

use serde_json::Value;

use crate::facts::{Fact, FaultInForce, News, World};
use crate::history::{Entry, Kind, Mark};

/// Folds the entries of a history of Karmada, or of anything that speaks its API.
#[derive(Debug, Default)]
pub struct Karmada {
    world: World,
}

impl Karmada {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The present state.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes the next entry, and answers with what it changed, in order.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        self.world.now = entry.at;
        let (news, witness) = match &entry.kind {
            Kind::Mark(mark) => (vec![self.mark(mark)], None),
            Kind::Event { .. } => (Vec::new(), None),
        };
        news.into_iter().map(|news| Fact { at: entry.at, news, witness: witness.clone() }).collect()
    }

    /// A mark: a fault that begins or ends, or anything else.
    fn mark(&mut self, mark: &Mark) -> News {
        let text = |key: &str| mark.get(key).and_then(Value::as_str).map(str::to_owned);
        let member = text("cluster");
        match (text("fault"), text("state").as_deref()) {
            (Some(fault), Some("begin")) => {
                let since = self.world.now;
                self.world.faults.push(FaultInForce { fault: fault.clone(), member: member.clone(), since });
                News::FaultBegan { fault, member }
            }
            (Some(fault), Some("end")) => {
                let same = |each: &FaultInForce| each.fault == fault && each.member == member;
                if let Some(place) = self.world.faults.iter().position(same) {
                    self.world.faults.remove(place);
                }
                News::FaultEnded { fault, member }
            }
            _ => News::Step(mark.clone()),
        }
    }
}
