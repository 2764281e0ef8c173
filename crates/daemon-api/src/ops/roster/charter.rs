//! Which version of its charter a daemon was started with.

use daemon_records::error::{OpError, OpErrorKind};
use daemon_roster::{
    CharterValues, PacketHash, Role, Roster, RosterRow, SpawnPlan, kickoff_packet,
};

use crate::ops::{CharterText, Operations};
use crate::wire::CharterObject;

impl Operations {
    /// Returns the charter that the packet of a daemon was made from; `None` for a daemon that was not started from a plan, and for
    /// one whose packet no version makes any more.
    pub(super) async fn charter_of(
        &self,
        row: &RosterRow,
        roster: &Roster,
    ) -> Result<Option<CharterObject>, OpError> {
        let mut plans = roster.tables().plans.values();
        let Some(plan) = plans.find(|plan| plan.row.as_ref() == Some(&row.id)) else {
            return Ok(None);
        };
        let charters = match self.live.charters().await {
            Ok(charters) => charters,
            // Nothing knows them where no host runs.
            Err(error) if error.kind == OpErrorKind::Unavailable => return Ok(None),
            Err(error) => return Err(error),
        };
        let heartbeat_minutes = roster.settings().heartbeat.as_mins();
        Ok(started_with(plan, heartbeat_minutes, &charters))
    }
}

/// Finds the version whose packet is that of a plan.
fn started_with(
    plan: &SpawnPlan,
    heartbeat_minutes: i64,
    charters: &[CharterText],
) -> Option<CharterObject> {
    let wanted = &plan.wanted;
    let values = CharterValues {
        project: wanted.project.clone(),
        name: plan.name.clone(),
        role: wanted.role.clone(),
        harness: wanted.harness.clone(),
        heartbeat_minutes,
        predecessor: None,
        handoff: None,
    };
    let mut versions = charters.iter();
    let used = versions.find(|charter| {
        let packet = kickoff_packet(&charter.body, &values);
        packet.is_ok_and(|packet| PacketHash::of(&packet) == plan.packet)
    })?;
    let current = charters
        .iter()
        .find(|charter| charter.role.as_ref() == Some(&wanted.role));
    Some(CharterObject {
        role: Role::as_str(&wanted.role).to_owned(),
        version: used.version.clone(),
        current: current.map(|charter| charter.version.clone()),
        body: used.body.clone(),
    })
}
