//! How a sender of events is answered.

/// What a sender is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderReply<T, E> {
    /// The events are stored, as this says; the sender need not repeat them.
    Acknowledge(T),
    /// The store failed; the sender is to repeat the delivery.
    Failed(E),
    /// The store is slow; the sender is to repeat the delivery.
    Slow,
}

/// Returns the answer to a sender when it is due; `stored` is `None` if the store has not answered by then.
///
/// Only what is durable is acknowledged: the acknowledgement holds what the store answered after the commit. A delivery that
/// is stored though its sender was asked to repeat it is known when it comes again.
pub fn reply_to_sender<T, E>(stored: Option<Result<T, E>>) -> SenderReply<T, E> {
    match stored {
        Some(Ok(stored)) => SenderReply::Acknowledge(stored),
        Some(Err(error)) => SenderReply::Failed(error),
        None => SenderReply::Slow,
    }
}
