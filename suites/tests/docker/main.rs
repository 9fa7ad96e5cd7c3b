//! Members in containers, as users run them. Where there is no Docker, each test is listed as ignored, and why is said first.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod breakdowns;
mod kills;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use support::{away, build_image};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let away = away();
    if let Some(why) = &away {
        println!("SKIP: tests that need Docker: {why}");
    } else if !arguments.list {
        build_image();
    }
    let trial = |name: &str, test: fn()| {
        let test = move || {
            test();
            Ok(())
        };
        Trial::test(name, test).with_kind("docker").with_ignored_flag(away.is_some())
    };
    let tests = vec![
        trial("three_members_start_and_are_gone_when_they_are_dropped", breakdowns::ready),
        trial("a_workload_leaves_a_machine_that_breaks_down_and_may_come_back", breakdowns::each),
        trial("a_member_hears_how_long_replicas_take", breakdowns::start_up),
        trial("runs_that_are_killed_leave_nothing_after_the_next_start", kills::leave_nothing),
        trial("without_the_image_the_doctor_and_the_run_say_how_to_build_it", support::no_image),
    ];
    libtest_mimic::run(&arguments, tests).exit_code()
}
