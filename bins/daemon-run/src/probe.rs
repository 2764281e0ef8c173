//! Attempts to leave the sandbox: a real run tries to reach the host, another run and the machine.
//!
//! Everything belongs to a temporary home with a repository of its own. Each level has two runs, made as those of any daemon
//! are: one stays, and the other makes the attempts. A third pair runs without a sandbox: an attempt that fails there shows
//! nothing about the sandbox.

mod attempts;
mod calls;
mod child;
mod network;
mod report;
mod sockets;
mod table;
mod targets;
mod world;

pub(crate) use child::run as run_child;
pub(crate) use report::ProbeReport;

use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;
use report::LevelResults;
use sockets::Sockets;
use world::ProbeWorld;

/// The level without a sandbox.
const OPEN_LEVEL: u8 = 1;

/// Makes the attempts at every level that this machine supports.
///
/// # Errors
/// Fails if a run cannot be made.
pub(crate) async fn run(place: &Place, out: Out) -> Result<ProbeReport, CommandFailure> {
    let sandbox = daemon_process::probe();
    let sockets = Sockets::open().await.map_err(|error| {
        CommandFailure::unreadable(std::path::Path::new("the loopback interface"), &error)
    })?;
    let probing = async {
        let world = Box::pin(ProbeWorld::make(place, &sockets)).await?;
        let mut levels = Vec::new();
        // Without a sandbox last: it is the only one whose attempts change anything.
        for level in (OPEN_LEVEL..=sandbox.level.number()).rev() {
            out.note(&match level {
                OPEN_LEVEL => "probing without a sandbox".to_owned(),
                level => format!("probing at level {level}"),
            });
            let attempted = Box::pin(world.probe(level, &sockets)).await?;
            levels.push(LevelResults { level, attempted });
        }
        Ok(ProbeReport::new(levels, &sandbox))
    };
    tokio::select! {
        report = probing => report,
        never = sockets.serve() => match never {},
    }
}
