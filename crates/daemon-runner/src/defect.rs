//! Panics as values: a panic ends the task that it happened in, and not the host.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

/// A panic, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a defect of the host: {message}")]
pub struct Defect {
    message: String,
}

/// Runs a future to its end, or to its panic.
///
/// # Errors
/// The future panicked. Its values are dropped when this returns.
pub async fn guarded<F: Future>(work: F) -> Result<F::Output, Defect> {
    let mut work = pin!(work);
    // Unwind safety is asserted because a future that panicked is never polled again.
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => {
                metrics::counter!("daemon_defects_total").increment(1);
                let said = panic
                    .downcast_ref::<&str>()
                    .map(ToString::to_string)
                    .or_else(|| panic.downcast_ref::<String>().cloned());
                std::task::Poll::Ready(Err(Defect {
                    message: said.unwrap_or_else(|| "it did not say what".to_owned()),
                }))
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_returned_as_a_defect_and_a_value_as_it_is() {
        assert_eq!(guarded(async { 7 }).await, Ok(7));
        let loud = guarded(async {
            tokio::task::yield_now().await;
            let n = 3;
            assert!(n == 0, "three of {n}");
        });
        let defect = loud.await.unwrap_err();
        assert_eq!(defect.to_string(), "a defect of the host: three of 3");
    }
}
