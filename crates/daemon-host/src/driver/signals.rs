//! What wakes the loops of a host.

use tokio::sync::Notify;

/// One wake-up per loop. A [`Notify`] keeps one permit, so a wake-up that comes while its loop works is not lost.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    pub(crate) matches: Notify,
    pub(crate) claims: Notify,
    pub(crate) facts: Notify,
    pub(crate) outputs: Notify,
    pub(crate) ticks: Notify,
    pub(crate) repos: Notify,
    /// The first reading of a repository has ended.
    pub(crate) read: Notify,
    /// The configuration or the parts were replaced.
    pub(crate) replaced: Notify,
}
