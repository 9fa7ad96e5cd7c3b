//! Implements `capsize watch`.
//! The command shows the state of a running fleet or of a run, over the whole terminal, or once as text.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use capsize_report::{Snapshot, draw_watch, snapshot_text, watch_lines};
use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};

use crate::control::FleetArg;
use crate::exit::{CommandError, ExitStatus, environment_error};
use crate::output;

/// Watch a running fleet of `capsize up`, or a run in real time, over the whole terminal
#[derive(Args, Debug)]
pub struct Watch {
    /// Print the state once, as text; this is the default where there is no terminal
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    fleet: FleetArg,
}

/// How long the view waits for a key before it looks at the fleet again.
const KEY_WAIT: Duration = Duration::from_millis(100);

impl Watch {
    /// Shows the fleet until a key ends the view or the fleet stops.
    ///
    /// # Errors
    /// No fleet is running, or the terminal cannot be used.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let is_once = self.once || !io::stdout().is_terminal() || !io::stdin().is_terminal();
        let mut states = self.fleet.states(!is_once)?;
        let first =
            states.next().ok_or_else(|| broken(&"it has stopped"))?.map_err(|error| broken(&error))?;
        let first = read(&first)?;
        if is_once {
            output::print(&snapshot_text(&first, output::columns()))?;
            return Ok(ExitStatus::Conforms);
        }
        let (sender, receiver) = sync_channel(1);
        let pass = move || states.map_while(Result::ok).try_for_each(|line| sender.send(line).map_err(drop));
        let started = thread::Builder::new().name("states".to_owned()).spawn(pass);
        started.map_err(|error| broken(&error))?;
        let mut terminal = ratatui::try_init().map_err(|error| broken(&error))?;
        let shown = show(&mut terminal, first, &receiver);
        ratatui::restore();
        shown.map(|()| ExitStatus::Conforms)
    }
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    mut snapshot: Snapshot,
    states: &Receiver<String>,
) -> Result<(), CommandError> {
    let mut skipped = 0u16;
    loop {
        terminal.draw(|frame| draw_watch(frame, &snapshot, skipped)).map_err(|error| broken(&error))?;
        if event::poll(KEY_WAIT).map_err(|error| broken(&error))? {
            let Event::Key(key) = event::read().map_err(|error| broken(&error))? else { continue };
            let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
            match key.code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                KeyCode::Char('c') if is_control => return Ok(()),
                KeyCode::Down => skipped = (skipped + 1).min(watch_lines(&snapshot).saturating_sub(1)),
                KeyCode::Up => skipped = skipped.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            match states.try_recv() {
                Ok(line) => snapshot = read(&line)?,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }
}

fn read(line: &str) -> Result<Snapshot, CommandError> {
    let other = || environment_error!("the fleet is of another release of Capsize");
    serde_json::from_str(line).map_err(|_| other())
}

fn broken(error: &impl std::fmt::Display) -> CommandError {
    environment_error!("the fleet cannot be watched: {error}")
}
