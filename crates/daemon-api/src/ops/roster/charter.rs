//! Which version of its charter a daemon was started with.

use daemon_records::error::{OpError, OpErrorKind};
use daemon_records::random;
use daemon_roster::{PacketHash, ResetId, Role, Roster, RosterCommand, RosterRow};

use super::request::needed;
use crate::ops::{CharterText, Operations, Params};
use crate::wire::CharterObject;

impl Operations {
    /// Returns the charter of a row; `None` for a daemon that the host did not start, and for a version that is not kept.
    pub(super) async fn charter_of(
        &self,
        row: &RosterRow,
    ) -> Result<Option<CharterObject>, OpError> {
        let (Some(version), Some(role)) = (row.charter, &row.role) else {
            return Ok(None);
        };
        let version = version.to_string();
        let charters = self.known_charters().await?;
        let used = charters.iter().find(|charter| charter.version == version);
        Ok(used.map(|used| CharterObject {
            role: Role::as_str(role).to_owned(),
            version,
            current: current(&charters, role).map(|charter| charter.version.clone()),
            body: used.body.clone(),
        }))
    }

    /// Returns the request that starts a successor, with the charter of its role: its packet has none, and it reads that one.
    pub(super) async fn reset_started(
        &self,
        mut params: Params,
        roster: &Roster,
    ) -> Result<RosterCommand, OpError> {
        let reset: ResetId = needed(&mut params, "reset")?;
        params.finish()?;
        let known = roster.tables().resets.get(&reset);
        let charters = self.known_charters().await?;
        let charter = known.and_then(|known| current(&charters, &known.role));
        Ok(RosterCommand::StartReset {
            reset,
            token: random::agent_token(),
            charter: charter.map(|charter| PacketHash::of(&charter.body)),
        })
    }

    /// Returns the charters and their versions; none where no host runs.
    async fn known_charters(&self) -> Result<Vec<CharterText>, OpError> {
        match self.live.charters().await {
            Err(error) if error.kind == OpErrorKind::Unavailable => Ok(Vec::new()),
            charters => charters,
        }
    }
}

/// Returns the charter that a role has at present.
fn current<'c>(charters: &'c [CharterText], role: &Role) -> Option<&'c CharterText> {
    charters
        .iter()
        .find(|charter| charter.role.as_ref() == Some(role))
}
