//! The prompt of a fleet that was started in a terminal.

use std::io::{self, BufRead, IsTerminal};
use std::thread;

use capsize_runner::run::{FORMS, Order, View};
use tokio::sync::mpsc;

use crate::control::send;
use crate::exit::CommandError;
use crate::{fault, output};

/// The text before each command.
const PROMPT: &str = "capsize> ";

/// The lines that are typed; none where there is no terminal.
/// An end of the input is an empty end of the channel.
pub(super) fn lines() -> Option<mpsc::Receiver<String>> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return None;
    }
    let (lines, typed) = mpsc::channel(1);
    // Reading a terminal cannot be interrupted, so that the thread ends with the process.
    let reads = move || {
        io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| lines.blocking_send(line))
    };
    thread::Builder::new().name("prompt".to_owned()).spawn(reads).ok()?;
    Some(typed)
}

/// Obeys the lines that are typed, until one of them is `quit`.
///
/// # Errors
/// Stdout cannot be written.
pub(super) async fn obey(
    mut typed: mpsc::Receiver<String>,
    orders: mpsc::Sender<Order>,
    view: View,
) -> Result<(), CommandError> {
    loop {
        output::print(PROMPT)?;
        let Some(line) = typed.recv().await else { return Ok(()) };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            ["quit" | "exit"] => return Ok(()),
            ["help"] => output::show(help())?,
            ["state"] => output::print(&capsize_report::snapshot_text(&view.snapshot(), output::columns()))?,
            [first, ..] => {
                // The word `fault` may be left out.
                let is_fault = FORMS.iter().any(|form| form.name == first);
                let line = if is_fault { format!("fault {line}") } else { line };
                let answer = send(&orders, &line).await.unwrap_or_else(|why| why);
                let mut page = output::page();
                answer.lines().for_each(|line| page.line(line));
                output::show(page)?;
            }
        }
    }
}

fn help() -> capsize_report::Page {
    let mut page = fault::forms(output::page());
    page.line("`state` prints the state of the fleet, `faults` the faults in force. `quit` stops the fleet.");
    page
}
