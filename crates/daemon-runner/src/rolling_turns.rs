//! Which attempt of each daemon works on the rolling branch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex};

use daemon_event::DaemonKey;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// One lock for each daemon with a rolling branch: two attempts that begin at one commit would exclude each other's push.
#[derive(Debug, Default)]
pub(crate) struct RollingTurns(StdMutex<HashMap<DaemonKey, Arc<Mutex<()>>>>);

/// The right of one attempt to work on the branch.
#[derive(Debug)]
pub(crate) struct RollingTurn {
    _held: OwnedMutexGuard<()>,
}

impl RollingTurns {
    /// Waits until no other attempt of the daemon works on its branch.
    pub(crate) async fn turn(&self, daemon: &DaemonKey) -> RollingTurn {
        let turn = {
            let mut turns = self.0.lock().expect("no holder panics");
            Arc::clone(turns.entry(daemon.clone()).or_default())
        };
        RollingTurn {
            _held: turn.lock_owned().await,
        }
    }
}
