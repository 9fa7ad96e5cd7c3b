//! Members in containers, as users run them.
//!
//! Without Docker, each test is listed as ignored, and a message gives the reason.

mod breakdowns;
mod kills;
mod kinds;
mod parts;
mod signals;
mod support;

use libtest_mimic::Trial;

use crate::trial;

use support::{away, build_image, lacks_node_image};

/// The tests of Docker. The longest tests begin first.
pub(crate) fn trials() -> Vec<Trial> {
    let away = away();
    if let Some(why) = &away {
        println!("SKIP: tests that need Docker: {why}");
    }
    let no_nodes = if away.is_some() { None } else { lacks_node_image() };
    if let Some(why) = &no_nodes {
        println!("SKIP: tests that need nodes of kind's: {why}");
    }
    let trial = |name: &str, is_missing: bool, test: fn()| {
        trial(&format!("docker::{name}"), is_missing, move || {
            build_image();
            test();
        })
    };
    let docker = |name: &str, test: fn()| trial(name, away.is_some(), test).with_kind("docker");
    let nodes =
        |name: &str, test: fn()| trial(name, away.is_some() || no_nodes.is_some(), test).with_kind("kind");
    vec![
        docker("a_workload_leaves_a_machine_that_breaks_down_and_may_come_back", breakdowns::each),
        nodes("runs_that_are_killed_leave_no_nodes_after_the_next_start", kills::leave_no_nodes),
        docker("three_members_start_and_are_gone_when_they_are_dropped", breakdowns::ready),
        docker("a_member_starts_replicas_as_slowly_as_a_case_requests", breakdowns::start_up),
        docker("runs_that_are_killed_leave_nothing_after_the_next_start", kills::leave_nothing),
        nodes("members_of_nodes_start_and_are_gone_when_they_are_dropped", kinds::ready),
        docker("what_a_busy_docker_makes_after_the_end_of_a_run_is_removed", kills::late),
        docker("runs_that_are_asked_to_stop_undo_what_they_have_done", signals::undo),
        docker("without_the_image_the_doctor_and_the_run_say_how_to_build_it", support::no_image),
        docker("without_an_image_of_nodes_the_doctor_and_the_run_say_how_to_get_one", kinds::no_image),
        nodes("a_workload_leaves_nodes_that_break_down_and_may_come_back", kinds::moves_away),
        nodes("nodes_that_were_shut_down_come_back_at_their_addresses", parts::addresses),
        nodes("a_part_of_a_node_is_shut_down_and_started_again", parts::programs),
        nodes("packets_vanish_by_rules_that_say_whose_they_are_and_go", parts::packets),
        nodes("what_a_node_sends_is_late_where_the_kernel_can_do_that", parts::late),
    ]
}
