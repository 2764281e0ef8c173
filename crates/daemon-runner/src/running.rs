//! The attempts under way, with their leases and what stops them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use daemon_engine::RunLease;
use daemon_event::ActivationId;
use daemon_lifecycle::StopReason;
use tokio::sync::watch;

/// One attempt under way.
#[derive(Debug)]
struct Running {
    lease: RunLease,
    stop: watch::Sender<Option<StopReason>>,
}

impl Running {
    /// Asks the attempt to stop; the first reason counts.
    fn stop(&self, why: StopReason) {
        // The reason that was stored first decides the state of the run, so that later ones must not replace it here.
        self.stop
            .send_if_modified(|reason| reason.is_none() && reason.replace(why).is_none());
    }
}

/// The attempts under way, by activation.
#[derive(Clone, Debug, Default)]
pub struct RunningAttempts {
    running: Arc<Mutex<HashMap<ActivationId, Running>>>,
}

/// The entry of one attempt; its lease is renewed until this is dropped, so that no lease outlives the task that works on it.
#[derive(Debug)]
pub(crate) struct AttemptGuard {
    attempts: RunningAttempts,
    id: ActivationId,
}

impl Drop for AttemptGuard {
    fn drop(&mut self) {
        self.attempts.lock().remove(&self.id);
    }
}

impl RunningAttempts {
    /// Adds an attempt, and returns its entry and the receiver of a reason to stop.
    pub(crate) fn begin(
        &self,
        id: &ActivationId,
        lease: RunLease,
    ) -> (AttemptGuard, watch::Receiver<Option<StopReason>>) {
        let (stop, stopped) = watch::channel(None);
        self.lock().insert(id.clone(), Running { lease, stop });
        let entry = AttemptGuard {
            attempts: self.clone(),
            id: id.clone(),
        };
        (entry, stopped)
    }

    /// Asks the attempt at an activation to stop, if there is one; the first reason counts.
    pub fn stop(&self, id: &ActivationId, why: StopReason) {
        if let Some(running) = self.lock().get(id) {
            running.stop(why);
        }
    }

    /// Asks every attempt to stop.
    pub fn stop_all(&self, why: StopReason) {
        for running in self.lock().values() {
            running.stop(why);
        }
    }

    /// Returns the leases of the attempts under way.
    pub fn leases(&self) -> Vec<(ActivationId, RunLease)> {
        let running = self.lock();
        let leases = running.iter();
        leases
            .map(|(id, running)| (id.clone(), running.lease))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ActivationId, Running>> {
        self.running.lock().expect("no holder panics")
    }
}
