//! The scheduler in a tokio loop: `cargo run -p daemon-schedule --example embed_tokio -- 3`.
//!
//! The argument is the number of ticks to wait for. Without it the example prints when the first
//! ticks are due.
#![expect(clippy::print_stdout, reason = "an example prints")]
#![expect(
    clippy::disallowed_methods,
    reason = "a program that embeds the scheduler owns the clock"
)]

use std::error::Error;

use daemon_cron::Zone;
use daemon_schedule::{Scheduler, TickPolicy, Unfinished};
use jiff::Timestamp;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let n_ticks: usize = std::env::args().nth(1).map_or(Ok(0), |text| text.parse())?;
    let mut scheduler = Scheduler::new();
    let started = Timestamp::now();
    scheduler.insert("minutely", "* * * * *".parse()?, &Zone::utc(), started);
    scheduler.insert("every five", "*/5 * * * *".parse()?, &Zone::utc(), started);

    if let Some(deadline) = scheduler.deadline() {
        println!("the first ticks are due at {deadline}");
    }

    let mut n_seen = 0;
    while n_seen < n_ticks
        && let Some(deadline) = scheduler.deadline()
    {
        let wait = Timestamp::now().duration_until(deadline);
        tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
        let now = Timestamp::now();
        scheduler.advance(now, |due| {
            let plan =
                TickPolicy::default().plan(due.schedule, due.after, now, Unfinished::default());
            for row in plan.rows {
                println!("{}: {} {}", due.key, row.outcome, row.scheduled_at);
                n_seen += 1;
            }
        });
    }
    Ok(())
}
