//! Operations on crons.

use daemon_agent::{Cron, crons_repo, utc};
use daemon_records::error::OpError;
use daemon_store::{Query, StoredTick};
use serde_json::{Map, Value};

use super::events::{agent, id};
use super::{Operations, Params, value};
use crate::wire::CronObject;

impl Operations {
    pub(super) async fn cron_create(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let missing = || OpError::invalid("`agent` is missing");
        let cron = Cron {
            schedule: params.required("schedule")?,
            skill: params.required("skill")?,
            agent: agent(&mut params, "agent")?.ok_or_else(missing)?,
            sender: params.required("sender")?,
            zone: params.text("zone")?.unwrap_or_else(utc),
            quiet_start: params.text("quiet_start")?,
            quiet_end: params.text("quiet_end")?,
            once: params.flag("once")?,
        };
        params.finish()?;
        let id = self.conversations()?.create_cron(cron.clone()).await?;
        let object = CronObject::new(id, &cron, self.live.now());
        Ok(Map::from_iter([("cron".to_owned(), value(&object)?)]))
    }

    pub(super) async fn cron_list(&self, params: Params) -> Result<Map<String, Value>, OpError> {
        params.finish()?;
        let crons = self.conversations()?.crons().await?;
        let mut objects = Vec::new();
        for (id, entry) in crons.all() {
            let last = self.last_tick(id).await?;
            objects.push(CronObject::of((id, entry), last, self.live.now()));
        }
        Ok(Map::from_iter([("crons".to_owned(), value(&objects)?)]))
    }

    async fn last_tick(&self, id: u64) -> Result<Option<StoredTick>, OpError> {
        let query = Query {
            limit: 1,
            daemon: Some(id.to_string()),
            repo: Some(crons_repo()),
            ..Query::default()
        };
        Ok(self.store.ticks(&query).await?.rows.pop())
    }

    pub(super) async fn cron_delete(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = id(&mut params)?;
        params.finish()?;
        self.conversations()?.delete_cron(id).await?;
        Ok(Map::new())
    }
}
