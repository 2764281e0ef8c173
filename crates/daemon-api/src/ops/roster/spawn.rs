//! Plans of spawns and their confirmation: what the host finds out goes with the request.

use daemon_records::error::OpError;
use daemon_records::random;
use daemon_roster::{
    Confirmation, PlanId, Project, Roster, RosterCommand, SpawnFacts, WantedSpawn,
};

use super::request::{needed, word};
use crate::ops::{Operations, Params};

impl Operations {
    /// Returns the request of a plan.
    pub(super) async fn spawn_planned(&self, mut params: Params) -> Result<RosterCommand, OpError> {
        let wanted = WantedSpawn {
            project: needed::<Project>(&mut params, "project")?,
            role: needed(&mut params, "role")?,
            harness: needed(&mut params, "harness")?,
            name: word(&mut params, "name")?,
        };
        params.finish()?;
        let facts = Box::new(self.live.spawn_facts(&wanted).await?);
        Ok(RosterCommand::PlanSpawn { wanted, facts })
    }

    /// Returns the request of a confirmation; the host looks again at what was planned.
    pub(super) async fn spawn_confirmed(
        &self,
        mut params: Params,
        roster: &Roster,
    ) -> Result<RosterCommand, OpError> {
        let plan: PlanId = needed(&mut params, "plan")?;
        let packet = needed(&mut params, "packet_sha256")?;
        let confirmation = match params.flag("confirm")? {
            true => Confirmation::Confirmed,
            false => Confirmation::Unconfirmed,
        };
        params.finish()?;
        let facts = match roster.tables().plans.get(&plan) {
            Some(known) => self.live.spawn_facts(&known.wanted).await?,
            // The roster refuses it, and records that.
            None => SpawnFacts::nothing(),
        };
        Ok(RosterCommand::ConfirmSpawn {
            plan,
            packet,
            confirmation,
            token: random::agent_token(),
            facts: Box::new(facts),
        })
    }
}
