//! The places of clients and of their requests.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A limited number of places. A clone shares them.
#[derive(Clone, Debug)]
pub struct ControlPlaces {
    free: Arc<Semaphore>,
    n_all: usize,
}

impl ControlPlaces {
    /// Creates this many places.
    pub fn new(n_all: u32) -> Self {
        let n_all = usize::try_from(n_all).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(n_all)),
            n_all,
        }
    }

    /// Takes a place until the returned value is dropped; `None` if all are taken.
    pub(super) fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Returns how many are taken.
    pub fn n_taken(&self) -> usize {
        self.n_all.saturating_sub(self.free.available_permits())
    }
}
