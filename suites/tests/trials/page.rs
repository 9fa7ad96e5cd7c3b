//! Opens the page of a report in Chromium, from disk.
//!
//! Without Chromium, each test is listed as ignored, and a message gives the reason.

mod browser;

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::fleet::Up;
use crate::trial;

use browser::{Browser, missing};

const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/karmada-1.18.2");

/// The tests of the page.
pub(crate) fn trials() -> Vec<Trial> {
    let missing = missing();
    if let Some(why) = &missing {
        println!("SKIP: tests of the page in a browser: {why}");
    }
    let tests: [(&str, fn()); 6] = [
        ("the_page_opens_from_disk_without_a_request_and_without_an_error", opens_from_disk),
        ("n_leads_to_the_first_violation_with_its_window_and_event", next_violation),
        ("a_click_shows_the_object_and_its_difference", click),
        ("filters_find_cases_and_events", filters),
        ("two_runs_are_aligned_at_their_fault_and_differ_visibly", comparison),
        ("the_time_line_of_a_running_fleet_ends_now_and_not_with_the_last_event", live_end),
    ];
    let trial = |(name, test): (&str, fn())| trial(&format!("page::{name}"), missing.is_some(), test);
    tests.map(trial).into()
}

/// The page about these recordings, made by `capsize check --report`, as a URL.
fn page(folder: &Path, recordings: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    command.arg("check").args(recordings).current_dir(RECORDINGS).arg("--report").arg(folder);
    assert!(command.output().unwrap().status.code().is_some_and(|code| code <= 1));
    format!("file://{}", folder.join("index.html").display())
}

/// Fails if the page reported an error or asked anything of a network.
fn is_clean(browser: &Browser) {
    let errors = browser.log("browser");
    assert!(errors.is_empty(), "{errors:#?}");
    let requests: Vec<String> = browser
        .log("performance")
        .into_iter()
        .filter(|message| message.contains("Network.requestWillBeSent\""))
        .filter_map(|message| Some(message.split_once("\"url\":\"")?.1.split('"').next()?.to_owned()))
        .filter(|url| !url.starts_with("file:///") && url != "about:blank")
        .collect();
    assert!(requests.is_empty(), "{requests:#?}");
}

fn opens_from_disk() {
    let folder = TempDir::new().unwrap();
    let url = page(folder.path(), &["duplicated-refused.jsonl"]);
    let browser = Browser::start();
    browser.open(&url);
    assert_eq!(browser.text("#case-title"), "duplicated-refused");
    assert!(browser.value("rows.length").as_u64().unwrap() > 10);
    assert!(browser.count(".event") > 5);
    // A request of the page is seen: this one is refused by the policy of the page, and reported as an error.
    is_clean(&browser);
    browser.value("fetch('http://127.0.0.1:9/').catch(() => 0)");
    assert!(!browser.log("browser").is_empty());
}

fn next_violation() {
    let folder = TempDir::new().unwrap();
    let url = page(folder.path(), &["short-blip.jsonl", "divided-weighted.jsonl"]);
    let browser = Browser::start();
    browser.open(&url);
    assert_eq!(browser.text("#case-title"), "");
    browser.press("n");
    browser.wait_for("view.problem === 0");
    assert_eq!(browser.text("#case-title"), "divided-weighted");
    assert_eq!(browser.text(".problem.selected strong"), "EVICTION-03");
    let address = browser.value("location.hash");
    assert!(address.as_str().unwrap().contains("problem=1"), "{address}");
    // The window and the judged event are in the visible part, in a row that is visible.
    let is_visible = "(() => {
        const { at, earliest } = view.data.problems[0];
        const row = rows.find((each) => each.kind === 'windows' && each.label === 'EVICTION-03');
        const y = row.y - scroller.scrollTop;
        return y >= 0 && y + row.height + AXIS <= size.height && [at, earliest].every((time) => time >= view.from && time <= view.to);
    })()";
    assert_eq!(browser.value(is_visible), true);
    assert_eq!(browser.value("view.cursor === view.data.problems[0].at"), true);
    assert_eq!(browser.count(".event.current"), 1);
    // The address leads to the same place.
    browser.open(&format!("{url}{}", address.as_str().unwrap()));
    assert_eq!(browser.text(".problem.selected strong"), "EVICTION-03");
    is_clean(&browser);
}

fn click() {
    let folder = TempDir::new().unwrap();
    let url = page(folder.path(), &["duplicated-refused.jsonl"]);
    let browser = Browser::start();
    browser.open(&url);
    assert_eq!(browser.count("#object pre"), 0);
    // In the middle of the lane of m2, in which the member is tainted.
    let place = browser.value(
        "(() => {
            const row = rows.find((each) => each.kind === 'member' && each.label === 'm2');
            const box = canvas.getBoundingClientRect();
            return [box.x + xOf(row, 20e6), box.y + AXIS + row.y - scroller.scrollTop + 6];
        })()",
    );
    browser.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    assert_eq!(browser.text("#object h3"), "Cluster m2");
    assert!(browser.count("#object .added") > 0);
    assert!(browser.text("#object pre").contains("NoExecute"), "{}", browser.text("#object pre"));
    browser.click_on(".event:nth-child(3)");
    assert_ne!(browser.text("#object h3"), "");
    is_clean(&browser);
}

fn filters() {
    let folder = TempDir::new().unwrap();
    let names = ["short-blip.jsonl", "divided-weighted.jsonl", "duplicated-refused.jsonl"];
    let url = page(folder.path(), &names);
    let browser = Browser::start();
    browser.open(&url);
    assert_eq!(browser.count(".case"), 3);
    // Failed cases come first.
    assert_eq!(browser.text(".case .name"), "divided-weighted");
    browser.press("/");
    browser.press("refused");
    assert_eq!(browser.count(".case"), 1);
    browser.click_on(".case");
    browser.wait_for("view.data");
    let all = browser.value("listed.length").as_u64().unwrap();
    browser.press("f");
    browser.press("task");
    let listed = browser.value("listed.length").as_u64().unwrap();
    assert!(listed > 0 && listed < all, "{listed} of {all}");
    is_clean(&browser);
}

fn comparison() {
    let folder = TempDir::new().unwrap();
    let url = page(folder.path(), &["duplicated-refused.jsonl", "duplicated-partitioned.jsonl"]);
    let browser = Browser::start();
    browser.open(&format!("{url}#case=duplicated-refused&with=duplicated-partitioned"));
    assert_eq!(browser.value("element('with').value"), "duplicated-partitioned");
    let first = browser.value("xOf(rows[0], firstFault(view.data))");
    let second = browser.value("xOf({ ...rows[0], shift: otherShift() }, firstFault(view.other))");
    assert_eq!(first, second);
    assert!(browser.value("rows.filter((row) => row.partner).length").as_u64().unwrap() > 10);
    assert!(browser.count(".event.both") > 0);
    browser.press("f");
    browser.press("chosen");
    assert!(browser.count(".event.only") + browser.count(".event.both") > 0);
    is_clean(&browser);
}

fn live_end() {
    let fleet = Up::start(&["--members", "1", "--speed", "60", "--serve"]);
    let browser = Browser::start();
    browser.open(fleet.printed.split_whitespace().rfind(|word| word.starts_with("http://")).unwrap());
    let health = "view.data?.members[0]?.health.at(-1)";
    browser.wait_for(&format!("{health}?.[1] === 'Ready'"));
    browser.value("order('fault refuse member1')");
    browser.wait_for(&format!("{health}?.[1] === 'NotReady'"));
    // Half a minute of the fleet passes without an event.
    browser.wait_for("view.data.span > view.data.events.at.at(-1) + 30e6");
    assert_eq!(browser.value("view.to - view.data.span"), 0);
    // The lane shows how long the member has been NotReady.
    let drawn =
        browser.value(&format!("xOf(rows[0], view.to) - xOf(rows[0], {health}[0])")).as_f64().unwrap();
    assert!(drawn > 1.0, "{drawn} pixels");
    assert!(browser.log("browser").is_empty());
}
