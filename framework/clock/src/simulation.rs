//! Runs in virtual time: a fresh thread with one paused runtime, and randomness from the seed.
//!
//! The thread is fresh because std draws its hash keys once a thread and increments them with every map: the
//! second run on a thread would differ from the same run alone.

use std::future::Future;
use std::pin::Pin;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use rand::RngExt;

use crate::offset::Returns;
use crate::{Clock, Seed, entropy};

/// The clock and the seed of a simulated run.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    /// The run's clock.
    /// Its fraction of a second is drawn from the seed, so that time stamps of whole seconds lose a different fraction
    /// in different runs.
    pub clock: Clock,
    /// The run's seed.
    pub seed: Seed,
}

/// Runs the future that `main` makes in virtual time, and returns its result.
///
/// There must be no sockets, threads or blocking calls inside: a paused runtime does not wait for them.
///
/// # Panics
/// Panics if the future panics, or if the machine refuses a thread.
pub fn simulate<F, Fut, T>(seed: Seed, main: F) -> T
where
    F: FnOnce(Simulation) -> Fut + Send,
    Fut: Future<Output = T>,
    T: Send,
{
    let mut result = None;
    let main = into_slot(main, &mut result);
    simulate_to_the_end(seed, Box::new(main));
    result.expect("the future has ended")
}

/// A future whose type is erased, so that what runs the future is compiled once for all of them.
pub(crate) type MainFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Erases the type of the future that `main` makes. The result of the future is put into `slot`.
pub(crate) fn into_slot<'a, F, Fut, T>(
    main: F,
    slot: &'a mut Option<T>,
) -> impl FnOnce(Simulation) -> MainFuture<'a>
where
    F: FnOnce(Simulation) -> Fut + 'a,
    Fut: Future<Output = T> + 'a,
{
    move |simulation| Box::pin(async move { *slot = Some(main(simulation).await) })
}

/// Runs the future that `main` makes on a thread of its own.
fn simulate_to_the_end<'a>(seed: Seed, main: Box<dyn FnOnce(Simulation) -> MainFuture<'a> + Send + 'a>) {
    let body = move || {
        let _chance = entropy::override_on_this_thread(seed.derive("entropy").0);
        fastrand::seed(seed.derive("fastrand").0);
        // The guard is dropped after the runtime, and therefore after everything that has a clock.
        let _offsets = Returns::on_this_thread();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing from the machine");
        runtime
            .block_on(async move { main(Simulation { clock: Clock::starting_at(epoch(seed)), seed }).await });
    };
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("simulation".into()).spawn_scoped(scope, body);
        if let Err(panic) = worker.expect("the machine refuses a thread").join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// The start of simulated time: a round date, and a fraction of a second from the seed.
fn epoch(seed: Seed) -> Timestamp {
    let fraction = Duration::from_millis(seed.stream("epoch").random_range(0..1000));
    Timestamp::constant(1_893_456_000, 0).saturating_add(fraction).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_simulated_day_ends_at_once_and_on_time() {
        let elapsed = simulate(Seed(1), |run| async move {
            run.clock.sleep(Duration::from_secs(86_400)).await;
            run.clock.elapsed()
        });
        assert_eq!(elapsed, Duration::from_secs(86_400));
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "its order is what is tested")]
    fn hash_order_is_the_same_in_every_run_of_a_seed() {
        let order = |seed| {
            simulate(Seed(seed), |_| async {
                let names: std::collections::HashSet<u32> = (0..32).collect();
                names.into_iter().collect::<Vec<_>>()
            })
        };
        assert_eq!(order(3), order(3));
        assert_ne!(order(3), order(4));
    }

    #[test]
    fn a_clock_is_right_at_first_despite_earlier_offsets_on_the_thread() {
        let off = || {
            simulate(Seed(5), |run| async move {
                let wrong = run.clock.now() != run.clock.steady();
                std::mem::forget(run.clock.set_off(jiff::SignedDuration::from_hours(1)));
                wrong
            })
        };
        assert!(!off() && !off());
    }

    #[test]
    fn runs_begin_at_different_fractions_of_a_second() {
        let fractions: BTreeSet<i32> = (0..50).map(|seed| epoch(Seed(seed)).subsec_nanosecond()).collect();
        assert!(fractions.len() > 40, "{fractions:?}");
    }
}
