//! Conditions keep the time of their last transition.

use capsize_api::{set_condition, set_unknown};
use jiff::Timestamp;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn the_time_of_transition_moves_with_the_status_only() {
    let mut conditions = Vec::new();
    for (holds, reason, second, since) in
        [(true, "First", 1, 1), (true, "Second", 2, 1), (false, "Third", 3, 3), (false, "Fourth", 4, 3)]
    {
        set_condition(&mut conditions, "Ready", holds, reason, "", at(second));
        assert_eq!(conditions.len(), 1);
        assert_eq!(conditions[0].reason, reason);
        assert_eq!(conditions[0].last_transition_time.0, at(since), "{reason}");
    }
    set_unknown(&mut conditions, "Ready", "Fifth", "", at(5));
    assert_eq!((conditions[0].status.as_str(), conditions[0].last_transition_time.0), ("Unknown", at(5)));
}
