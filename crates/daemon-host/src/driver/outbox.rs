//! The outbox loop: due outputs are looked up or sent, and settled.

use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{
    Output, Step, Surface, SurfaceError, SurfaceErrorKind, after_look_up, after_send, step,
};
use daemon_store::StoreError;

use super::Inner;
use crate::random;

/// How many outputs are taken at once.
const BATCH: u32 = 32;
/// How long the loop sleeps when nothing wakes it.
const IDLE: Duration = Duration::from_secs(30);
/// How long the loop waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Settles outputs until told to stop.
pub(super) async fn run(inner: Arc<Inner>) {
    while !inner.stop.is_cancelled() {
        let pause = match deliver_due(&inner).await {
            Ok(pause) => pause,
            Err(error) => {
                inner.trouble("the outbox cannot reach the store", &error);
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = inner.stop.cancelled() => {}
            () = inner.signals.outputs.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Settles what is due and returns how long nothing will be.
///
/// # Errors
/// If the store fails; what was being sent is looked up later.
pub(super) async fn deliver_due(inner: &Inner) -> Result<Duration, StoreError> {
    loop {
        let due = inner.store.due_outputs(inner.clock.now(), BATCH).await?;
        if due.is_empty() {
            break;
        }
        for output in due {
            deliver(inner, output).await?;
        }
    }
    let now = inner.clock.now();
    Ok(match inner.store.next_output_at(now).await? {
        Some(at) => at.duration_since(now).unsigned_abs().min(IDLE),
        None => IDLE,
    })
}

async fn deliver(inner: &Inner, output: Output) -> Result<(), StoreError> {
    let surface = inner.surface(&output.surface);
    crate::failpoint::hit("O1");
    let settlement = match (step(output.state), surface) {
        (Step::Rest, _) => return Ok(()),
        (_, None) => {
            let missing = format!("no surface `{}` is configured", output.surface);
            let refused = Err(SurfaceError::new(SurfaceErrorKind::Refused, missing));
            after_send(&output, refused, inner.clock.now(), random::jitter())
        }
        (Step::LookUp, Some(surface)) => {
            let found = surface.find(&output).await;
            after_look_up(&output, found, inner.clock.now(), random::jitter())
        }
        (Step::Send, Some(surface)) => send(inner, &*surface, &output).await?,
    };
    let settled = inner.store.settle(&output.key, settlement).await?;
    crate::failpoint::hit("O5");
    tracing::info!(
        output = %settled.key, activation = %settled.activation, state = settled.state.as_str(),
        target = settled.target, "output"
    );
    if settled.state.is_settled() {
        inner.signals.claims.notify_one();
        inner.signals.ended.notify_waiters();
    }
    Ok(())
}

async fn send(
    inner: &Inner,
    surface: &dyn Surface,
    output: &Output,
) -> Result<daemon_engine::Settlement, StoreError> {
    inner.store.begin_send(&output.key).await?;
    crate::failpoint::hit("O2");
    let sent = surface.deliver(output).await;
    crate::failpoint::hit("O4");
    Ok(after_send(
        output,
        sent,
        inner.clock.now(),
        random::jitter(),
    ))
}
