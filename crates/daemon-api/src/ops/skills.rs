//! Operations on skills.

use daemon_agent::{AgentError, AgentName, SkillName, Skills};
use daemon_records::error::{OpError, OpErrorKind};
use serde_json::{Map, Value};

use super::{Operations, Params, value};
use crate::wire::{ListedSkillObject, SkillObject};

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    text: &str,
) -> Result<T, OpError> {
    text.parse()
        .map_err(|error| OpError::invalid(format!("`{name}`: {error}")))
}

/// Converts the error of an agent whose skills were to be listed: a listing finds everything, an argument can be wrong.
fn of_agent(error: OpError) -> OpError {
    match error.kind {
        OpErrorKind::NotFound => OpError::invalid(format!("`agent`: {}", error.message)),
        _ => error,
    }
}

impl Operations {
    /// Does something with the skills, on a thread for blocking calls.
    async fn with_skills<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Skills) -> Result<T, AgentError> + Send + 'static,
    ) -> Result<T, OpError> {
        let skills = self.live.skills();
        let done = tokio::task::spawn_blocking(move || work(&skills)).await;
        let done = done
            .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?;
        Ok(done?)
    }

    pub(super) async fn skill_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let agent = params.text("agent")?;
        let agent: Option<AgentName> = agent.map(|name| parsed("agent", &name)).transpose()?;
        params.finish()?;
        let allowed = match agent {
            None => None,
            Some(name) => {
                let found = self.with_agents(move |agents| agents.get(&name)).await;
                Some(found.map_err(of_agent)?.skills)
            }
        };
        let mut listed = self.with_skills(Skills::list).await?;
        listed.retain(|skill| allowed.as_ref().is_none_or(|names| names.has(&skill.name)));
        let listed = listed.into_iter().map(ListedSkillObject::from);
        let objects = value(&listed.collect::<Vec<_>>())?;
        Ok(Map::from_iter([("skills".to_owned(), objects)]))
    }

    pub(super) async fn skill_get(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let name: SkillName = parsed("name", &params.required("name")?)?;
        params.finish()?;
        let read = move |skills: &Skills| Ok((skills.get(&name)?, skills.files(&name)));
        let (bundle, files) = self.with_skills(read).await?;
        let body = Value::String(bundle.body.clone());
        let skill = value(&SkillObject::new(bundle, files))?;
        Ok(Map::from_iter([
            ("skill".to_owned(), skill),
            ("body".to_owned(), body),
        ]))
    }
}
