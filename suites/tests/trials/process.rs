//! Members that are processes, with a real etcd, and a kube-apiserver or a stand-in.
//!
//! Without etcd, each test that needs it is listed as ignored, and a message gives the reason.

mod breakdowns;
mod kills;
mod lacking;
mod support;

use libtest_mimic::Trial;

use crate::trial;

/// The tests of members that are processes. The longest tests begin first.
pub(crate) fn trials() -> Vec<Trial> {
    let missing = support::assets().err();
    if let Some(why) = &missing {
        println!("SKIP: tests of members that are processes: {why}");
    }
    let trial =
        |name: &str, is_missing: bool, test: fn()| trial(&format!("process::{name}"), is_missing, test);
    let etcd = |name: &str, test: fn()| trial(name, missing.is_some(), test).with_kind("etcd");
    let any = |name: &str, test: fn()| trial(name, false, test);
    vec![
        etcd("a_workload_leaves_processes_that_break_down_and_may_come_back", breakdowns::each),
        etcd("runs_that_are_killed_leave_no_processes_after_the_next_start", kills::leave_nothing),
        etcd("three_members_start_and_are_gone_when_they_are_dropped", breakdowns::ready),
        etcd("what_etcd_holds_survives_a_crash", breakdowns::data_survive),
        etcd("what_needs_a_network_of_its_own_is_skipped", breakdowns::no_network),
        etcd("a_member_that_does_not_start_is_reported_with_its_kept_logs", lacking::does_not_start),
        etcd("a_run_that_fails_keeps_the_logs_and_lists_them", lacking::fails),
        any("without_the_programs_the_doctor_and_the_run_name_all_that_was_looked_for", lacking::no_programs),
    ]
}
