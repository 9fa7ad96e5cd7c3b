//! The topics of facts, by which a guarantee subscribes to a few kinds of changes.

use super::Change;

/// Defines a topic for each variant of [`Change`].
macro_rules! topics {
    ($($name:ident)*) => {
        /// The kind of change in a fact.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "they are those of Change")]
        pub enum Topic { $($name),* }

        impl Topic {
            /// All topics.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        impl Change {
            /// The topic of the change.
            #[must_use]
            pub fn topic(&self) -> Topic {
                match self { $(Self::$name { .. } => Topic::$name),* }
            }
        }
    };
}

topics! {
    FaultBegan FaultEnded ClockWrong ClockRight Step
    Health TaintAdded TaintRemoved MemberChanged MemberReported Conditions SignOfLife GraceChanged Access
    MemberLeaving MemberGone
    Policy Overrides Template Namespace TaintPolicy
    Claimed HeldBack Recorded Required Wanted Assigned WorkloadGone
    EvictionBegan EvictionStamped EvictionChanged EvictionEnded EvictionAnnounced InstanceHealth InstanceCounts
    Delivered Rewritten DeliveryReported DeliveredTwice Recalled DeliveryGone Running RunningGone
}

/// A set of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topics(u64);

impl Topics {
    /// All topics.
    pub const ALL: Self = Self::of(Topic::ALL);

    /// The set of these topics.
    #[must_use]
    pub const fn of(topics: &[Topic]) -> Self {
        let (mut set, mut place) = (0, 0);
        while place < topics.len() {
            set |= 1 << topics[place] as u64;
            place += 1;
        }
        Self(set)
    }

    /// Whether the set contains the topic.
    #[must_use]
    pub const fn has(self, topic: Topic) -> bool {
        self.0 & (1 << topic as u64) != 0
    }
}
