//! What facts are about, for those who look at a few of them only.

use super::Change;

/// One variant of [`Change`] each.
macro_rules! topics {
    ($($name:ident)*) => {
        /// What a fact is about, whatever it says.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "they are those of Change")]
        pub enum Topic { $($name),* }

        impl Topic {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        impl Change {
            /// What it is about.
            #[must_use]
            pub fn topic(&self) -> Topic {
                match self { $(Self::$name { .. } => Topic::$name),* }
            }
        }
    };
}

topics! {
    FaultBegan FaultEnded ClockWrong ClockRight Step
    Health TaintAdded TaintRemoved MemberChanged MemberReported Conditions SignOfLife Access MemberLeaving MemberGone
    Policy Overrides Template Namespace TaintPolicy
    Claimed HeldBack Recorded Required Wanted Assigned WorkloadGone
    EvictionBegan EvictionStamped EvictionChanged EvictionEnded EvictionAnnounced InstanceHealth
    Delivered Rewritten DeliveryReported DeliveredTwice Recalled DeliveryGone Running RunningGone
}

/// Some topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topics(u64);

impl Topics {
    /// Every one.
    pub const ALL: Self = Self::of(Topic::ALL);

    /// These.
    #[must_use]
    pub const fn of(topics: &[Topic]) -> Self {
        let (mut set, mut place) = (0, 0);
        while place < topics.len() {
            set |= 1 << topics[place] as u64;
            place += 1;
        }
        Self(set)
    }

    /// Whether this is one of them.
    #[must_use]
    pub const fn has(self, topic: Topic) -> bool {
        self.0 & (1 << topic as u64) != 0
    }
}
