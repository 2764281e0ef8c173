//! An event given on the command line, enriched from local git.

use std::path::Path;

use daemon_api::StoredEvent;
use daemon_api::fire::FiredEvent;
use daemon_api::wire::FactObject;
use daemon_event::{Event, Need};
use daemon_host::facts::changed_files;
use daemon_records::error::chain;
use daemon_repo::{Git, Repository};
use serde_json::Value;

use crate::failure::CommandFailure;
use crate::place::Place;

/// An event with its facts and where each fact came from.
#[derive(Debug)]
pub(crate) struct KnownEvent {
    pub(crate) event: Event,
    /// The facts that a payload may not contain, as JSON objects.
    pub(crate) facts: Vec<Value>,
    /// The chain that a stored event continues, as its object has it; null for none.
    pub(crate) chain: Value,
    /// Why local git could not list the changed files, if it was asked.
    missed: Option<String>,
}

impl KnownEvent {
    /// Reads an event, and asks the repository at `root` for the changed files if the body does not list them.
    pub(crate) fn read(
        fired: &mut FiredEvent,
        root: Option<&Path>,
        place: &Place,
    ) -> Result<Self, CommandFailure> {
        let now = daemon_records::clock::now();
        let given = [
            (Need::ChangedFiles, fired.enrichment.changed_files.is_some()),
            (Need::PullRequests, fired.enrichment.pull_requests.is_some()),
            (Need::ChannelName, fired.enrichment.channel_name.is_some()),
            (Need::LabelName, fired.enrichment.label_names.is_some()),
        ];
        let event = fired.event(now)?;
        let mut known = Self {
            facts: Vec::new(),
            chain: Value::Null,
            event,
            missed: None,
        };
        for fact in FactObject::all(&known.event, &[]) {
            known.note(&fact);
        }
        // The event does not record that a fact came from a flag, so these entries replace those of the payload.
        for (need, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            known.note(&FactObject::known(need, "given"));
        }
        if let Some(root) = root
            && known.event.facts.get(Need::ChangedFiles.field()).is_none()
        {
            known.look_up(fired, root, place)?;
        }
        Ok(known)
    }

    /// Wraps a stored event with the facts that its host recorded.
    pub(crate) fn stored(stored: StoredEvent) -> Self {
        Self {
            event: stored.event,
            facts: stored.facts,
            chain: stored.chain,
            missed: None,
        }
    }

    fn look_up(
        &mut self,
        fired: &mut FiredEvent,
        root: &Path,
        place: &Place,
    ) -> Result<(), CommandFailure> {
        // Without git or a repository the fact stays missing, which `miss` reports.
        let Ok(git) = Git::find(&place.path) else {
            return Ok(());
        };
        let Ok(repository) = Repository::enclosing(&git, root) else {
            return Ok(());
        };
        match changed_files(&repository, &self.event) {
            Ok(fact) => {
                // The facts are a part of the event, so the event is built again.
                fired.enrichment.changed_files = fact.found.changed_files;
                self.event = fired.event(daemon_records::clock::now())?;
                self.note(&FactObject {
                    note: fact.note,
                    ..FactObject::known(Need::ChangedFiles, fact.origin.as_str())
                });
            }
            Err(missed) => self.missed = Some(chain(&missed)),
        }
        Ok(())
    }

    /// Adds an entry for each fact that conditions need and that is missing, with the reason.
    pub(crate) fn miss(&mut self, needs: impl IntoIterator<Item = Need>) {
        for need in needs {
            if self.facts.iter().any(|fact| fact["need"] == need.as_str()) {
                continue;
            }
            let missed = self
                .missed
                .as_deref()
                .filter(|_| need == Need::ChangedFiles);
            let why = match missed {
                Some(missed) => format!(
                    "{missed}; a host would ask the API of {}",
                    self.event.source
                ),
                None => format!("a host would ask the API of {}", self.event.source),
            };
            self.note(&FactObject::missing(need, why));
        }
    }

    fn note(&mut self, fact: &FactObject) {
        self.facts.retain(|known| known["need"] != fact.need);
        self.facts
            .push(serde_json::to_value(fact).expect("every part of it is plain JSON"));
    }
}
