//! The signals that interrupt `fire`.

use std::fs;
use std::future::poll_fn;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{CommandFailure, ExitKind};

/// SIGINT, SIGTERM and SIGHUP.
pub(super) struct Interrupts(Vec<Signal>);

impl Interrupts {
    /// Installs the handlers. A signal that is ignored at the start, as `nohup` does with SIGHUP, stays ignored.
    pub(super) fn new() -> Result<Self, CommandFailure> {
        let ignored = ignored();
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let kept = kinds
            .into_iter()
            .filter(|kind| ignored >> (kind.as_raw_value() - 1) & 1 == 0);
        let streams: Result<_, _> = kept.map(signal).collect();
        let failed = |error| CommandFailure::bug(format!("signals cannot be received: {error}"));
        streams.map(Self).map_err(failed)
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        poll_fn(|context| {
            // All of them are polled, so that each can wake the task.
            let received = self
                .0
                .iter_mut()
                .filter_map(|stream| stream.poll_recv(context).is_ready().then_some(()));
            match received.count() {
                0 => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Does some work, unless a signal interrupts it.
    pub(super) async fn unless<T>(
        &mut self,
        work: impl Future<Output = Result<T, CommandFailure>>,
    ) -> Result<T, CommandFailure> {
        tokio::select! {
            // A signal that comes with the end of the work interrupts what follows it.
            biased;
            done = work => done,
            () = self.next() => Err(interrupted("")),
        }
    }
}

/// Returns the failure of an interrupted command.
pub(super) fn interrupted(consequence: &str) -> CommandFailure {
    let message = format!("interrupted{consequence}");
    CommandFailure::new(ExitKind::Interrupted, "interrupted", message)
}

/// Returns the signals that this process ignores, the first signal in the lowest bit; none where the system does not say.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
