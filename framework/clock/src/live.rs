//! Runs a future with sockets, in real time or at a multiple of it.
//!
//! At a multiple, tokio's clock is paused and advanced by hand every few milliseconds. The clock does not
//! jump to the next timer, as it does in a simulation, because a running blocking task prevents that.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::mpsc;

use crate::simulation::{MainFuture, into_slot};
use crate::{Clock, Seed, Simulation};

/// The real time between two advances of the paused clock.
const TICK: Duration = Duration::from_millis(5);

/// The longest advance at once, which limits how late a timer can fire.
const STEP: Duration = Duration::from_millis(100);

/// Runs the future that `main` makes, and returns the result of the future.
/// The clock of the future runs at `speed` seconds in a second. Spawned tasks run on several threads at speed 1, and on
/// one thread otherwise.
///
/// # Errors
/// When the machine refuses a thread or a file descriptor.
pub fn live<F, Fut, T>(seed: Seed, speed: f64, main: F) -> io::Result<T>
where
    F: FnOnce(Simulation) -> Fut,
    Fut: Future<Output = T>,
{
    let mut result = None;
    let main = into_slot(main, &mut result);
    live_to_the_end(seed, speed, Box::new(main))?;
    Ok(result.expect("the future has ended"))
}

/// Runs the future that `main` makes.
fn live_to_the_end<'a>(
    seed: Seed,
    speed: f64,
    main: Box<dyn FnOnce(Simulation) -> MainFuture<'a> + 'a>,
) -> io::Result<()> {
    let real_time = (speed - 1.0).abs() < f64::EPSILON;
    let run = async { main(Simulation { clock: Clock::real(), seed }).await };
    if real_time {
        Builder::new_multi_thread().enable_all().build()?.block_on(run);
        return Ok(());
    }
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(paced(run, speed));
    Ok(())
}

/// Runs `run` while the paused clock is advanced.
async fn paced(run: impl Future<Output = ()>, speed: f64) {
    let (beats, mut beaten) = mpsc::channel(1);
    let (running, stopped) = channel::<()>();
    let _pacemaker = tokio::task::spawn_blocking(move || beat(&beats, &stopped));
    let mut run = pin!(run);
    let (mut shown, mut due) = (Duration::ZERO, Duration::ZERO);
    loop {
        let step = STEP.min(due.saturating_sub(shown));
        tokio::select! {
            biased;
            () = run.as_mut() => break,
            Some(passed) = beaten.recv() => due = Duration::mul_f64(passed, speed),
            // This branch needs no race with the others: its first poll has advanced the clock.
            () = std::future::ready(()), if !step.is_zero() => {
                tokio::time::advance(step).await;
                shown += step;
            }
        }
    }
    drop(running);
}

/// Sends how much real time has passed, until the other end of `stopped` is dropped.
#[expect(clippy::disallowed_methods, reason = "this is where real time enters")]
fn beat(beats: &mpsc::Sender<Duration>, stopped: &Receiver<()>) {
    let start = Instant::now();
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(TICK) {
        // If the last message was not received yet, the next message covers both periods.
        let _ = beats.try_send(start.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far a clock at `speed` advances while a blocking task takes 200 ms of real time.
    fn moved(speed: f64) -> f64 {
        let run = |run: Simulation| async move {
            let before = run.clock.elapsed();
            let (_open, closed) = channel::<()>();
            let wait = move || closed.recv_timeout(Duration::from_millis(200));
            let _timed_out = tokio::task::spawn_blocking(wait).await.unwrap();
            (run.clock.elapsed() - before).as_secs_f64()
        };
        live(Seed(1), speed, run).unwrap()
    }

    #[test]
    fn a_clock_at_speed_sixty_goes_sixty_times_as_far() {
        let (once, sixty) = (moved(1.0), moved(60.0));
        assert!((0.19..5.0).contains(&once), "{once}");
        // A loaded machine makes the real time longer, and the ticks fewer.
        assert!((6.0..300.0).contains(&sixty), "{sixty}");
    }

    #[test]
    fn timers_are_due_in_the_time_of_the_run() {
        let minute = |run: Simulation| async move { run.clock.sleep(Duration::from_secs(60)).await };
        let clock = Clock::real();
        live(Seed(1), 600.0, minute).unwrap();
        assert!(clock.elapsed() < Duration::from_secs(30), "{:?}", clock.elapsed());
        assert!(clock.elapsed() > Duration::from_millis(90), "{:?}", clock.elapsed());
    }
}
