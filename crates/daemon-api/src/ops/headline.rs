//! Headlines: what happened in words, which pages show in place of ids.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use daemon_engine::Activation;
use daemon_event::{ActivationId, Event, EventId, Subject, TriggerKey};
use daemon_records::RecordedRun;
use daemon_records::error::OpError;
use daemon_run_folder::Folder;
use futures_util::future::try_join_all;
use serde_json::{Map, Value, json};

use super::Operations;

/// The maximum length of a title or a task, in characters.
const LONGEST: usize = 200;

/// What an object is, for its headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headlined {
    Event,
    Activation,
    Run,
    Output,
}

impl Headlined {
    /// Returns what the rows of a listing are; `None` for rows whose name is their headline.
    pub(crate) fn of(plural: &str) -> Option<Self> {
        match plural {
            "events" => Some(Self::Event),
            "activations" => Some(Self::Activation),
            "runs" => Some(Self::Run),
            "outputs" => Some(Self::Output),
            _ => None,
        }
    }
}

impl Operations {
    /// Adds headlines to the rows of a listing that have any.
    ///
    /// # Errors
    /// The store could not be read.
    pub(crate) async fn add_headlines_to(
        &self,
        plural: &str,
        listing: &mut Map<String, Value>,
    ) -> Result<(), OpError> {
        let rows = listing.get_mut(plural).and_then(Value::as_array_mut);
        match (Headlined::of(plural), rows) {
            (Some(kind), Some(rows)) => self.add_headlines(kind, rows).await,
            _ => Ok(()),
        }
    }

    /// Adds to each object `headline`, and `about`: the result, or the title of what it is about, if one is known.
    ///
    /// # Errors
    /// The store could not be read.
    pub(crate) async fn add_headlines(
        &self,
        kind: Headlined,
        rows: &mut [Value],
    ) -> Result<(), OpError> {
        let of_activation = match kind {
            Headlined::Activation => Some("id"),
            Headlined::Run => Some("activation_id"),
            Headlined::Event | Headlined::Output => None,
        };
        let ids = rows.iter().filter_map(|row| row[of_activation?].as_str());
        let named = self.of_activations(ids).await?;
        for row in rows.iter_mut() {
            let of = of_activation.and_then(|member| named.get(row[member].as_str()?));
            let (headline, about) = match (kind, of) {
                (_, Some((headline, about))) => (headline.clone(), about.clone()),
                (Headlined::Event, _) => (Happening::of_object(row).headline(), title(row)),
                (Headlined::Output, _) => (of_output(row), None),
                (Headlined::Run, _) => (self.run_headline(row).await?, None),
                (Headlined::Activation, _) => (String::new(), None),
            };
            let result = row["result_preview"].as_str().and_then(first_line);
            if let Value::Object(members) = row {
                members.insert("headline".to_owned(), json!(headline));
                members.insert("about".to_owned(), json!(result.or(about)));
            }
        }
        Ok(())
    }

    /// Returns what happened in some activations, by their ids.
    async fn of_activations(
        &self,
        ids: impl Iterator<Item = &str>,
    ) -> Result<BTreeMap<String, (String, Option<String>)>, OpError> {
        let ids: BTreeSet<ActivationId> = ids.filter_map(|id| id.parse().ok()).collect();
        let found = ids.iter().map(|id| self.store.activation(id));
        let activations = try_join_all(found).await?.into_iter().flatten();
        let activations: Vec<Activation> = activations.collect();
        let newest = activations.iter().filter_map(|one| one.triggers.last());
        let events = newest.filter_map(|trigger| match &trigger.key {
            TriggerKey::Event(id) => Some(id.clone()),
            TriggerKey::Tick(_) | TriggerKey::Person(_) => None,
        });
        let events: Vec<EventId> = events.collect();
        let rows = self.store.events_among(&events).await?;
        let events = rows.iter().map(|row| (row.event.id.as_str(), &row.event));
        let events: BTreeMap<&str, &Event> = events.collect();
        let named = activations.iter().map(|activation| {
            let about = activation.summary.as_deref().and_then(first_line);
            let headline = of_activation(activation, &events);
            (activation.id.to_string(), (headline, about))
        });
        Ok(named.collect())
    }

    async fn run_headline(&self, row: &Value) -> Result<String, OpError> {
        let id = row["id"].as_str().unwrap_or_default().to_owned();
        let task = self.folders(move |runs| Ok(task(&runs, &id))).await?;
        let provider = row["provider"].as_str().unwrap_or_default();
        Ok(match task {
            Some(task) => format!("{provider}: {task}"),
            None => format!("{provider}: a run without a daemon"),
        })
    }
}

/// Returns what woke a daemon: `pr-helper on lantern#8: pull request opened by ada`.
fn of_activation(activation: &Activation, events: &BTreeMap<&str, &Event>) -> String {
    let daemon = &activation.daemon.id;
    let newest = activation.triggers.last();
    let cause = match newest.map(|trigger| (&trigger.key, trigger.by.as_deref())) {
        None => String::new(),
        Some((TriggerKey::Event(id), _)) => match events.get(id.as_str()) {
            Some(event) => Happening::of_event(event).cause(),
            None => ": an event that is not kept any more".to_owned(),
        },
        Some((TriggerKey::Tick(_), _)) => " on its schedule".to_owned(),
        Some((TriggerKey::Person(_), Some("page"))) => ": fired from its page".to_owned(),
        Some((TriggerKey::Person(_), Some(by))) => format!(": fired by {by}"),
        Some((TriggerKey::Person(_), None)) => ": fired by a person".to_owned(),
    };
    let more = match activation.triggers.len() {
        0 | 1 => String::new(),
        n => format!(", and {} before", n - 1),
    };
    format!("{daemon}{cause}{more}")
}

/// Actions that services name by a verb in the present.
const PAST: [(&str, &str); 5] = [
    ("create", "created"),
    ("delete", "deleted"),
    ("remove", "removed"),
    ("restore", "restored"),
    ("update", "updated"),
];

/// The parts of an event that name it.
struct Happening<'a> {
    source: &'a str,
    kind: &'a str,
    action: Option<&'a str>,
    subject: Option<&'a str>,
    actor: Option<&'a str>,
}

impl<'a> Happening<'a> {
    fn of_event(event: &'a Event) -> Self {
        Self {
            source: event.source.as_str(),
            kind: &event.kind,
            action: event.action.as_deref(),
            subject: event.subject.as_ref().map(Subject::as_str),
            actor: event.actor.as_ref().map(|actor| actor.name.as_str()),
        }
    }

    /// Reads the object of an event.
    fn of_object(row: &'a Value) -> Self {
        let text = |name: &str| row[name].as_str();
        Self {
            source: text("source").unwrap_or_default(),
            kind: text("kind").unwrap_or_default(),
            action: text("action"),
            subject: text("subject"),
            actor: text("actor"),
        }
    }

    /// Returns what happened: `lantern#8: pull request opened by ada`.
    fn headline(&self) -> String {
        let place = self.subject.map(subject_words);
        let place = place.unwrap_or_else(|| self.source.to_owned());
        format!("{place}: {}", self.happened())
    }

    /// Returns the words after the name of a daemon: ` on lantern#8: pull request opened by ada`.
    fn cause(&self) -> String {
        let place = self
            .subject
            .map(subject_words)
            .map(|it| format!(" on {it}"));
        format!("{}: {}", place.unwrap_or_default(), self.happened())
    }

    fn happened(&self) -> String {
        let words = |text: &str| {
            let word = PAST.iter().find(|(present, _)| *present == text);
            word.map_or_else(|| text.replace('_', " "), |(_, past)| (*past).to_owned())
        };
        let is_tag = self.subject.is_some_and(|it| it.contains(":refs/tags/"));
        let what = match (self.kind, self.action) {
            ("push", _) => "commits pushed".to_owned(),
            (kind @ ("create" | "delete"), None) => {
                let what = if is_tag { "tag" } else { "branch" };
                format!("{what} {}", words(kind))
            }
            ("pull_request", Some("synchronize")) => "pull request updated".to_owned(),
            ("issues", Some(action)) => format!("issue {}", words(action)),
            ("issue_comment", Some(action)) => format!("comment {}", words(action)),
            (kind, Some(action)) => format!("{} {}", words(kind), words(action)),
            (kind, None) => words(kind),
        };
        match self.actor {
            Some(actor) => format!("{what} by {actor}"),
            None => what,
        }
    }
}

/// Returns the title of what an event is about, or the message of the newest commit in its payload.
fn title(row: &Value) -> Option<String> {
    let message = || row.pointer("/payload/head_commit/message")?.as_str();
    first_line(row["title"].as_str().or_else(message)?)
}

/// Returns the first line of the task of a run.
fn task(runs: &Path, id: &str) -> Option<String> {
    let folder = Folder::new(runs, id.parse().ok()?);
    // The time only decides whether an unfinished run was lost, which its task does not depend on.
    let run = RecordedRun::read(&folder, jiff::Timestamp::UNIX_EPOCH)?;
    let members: Map<String, Value> = run.to_members();
    first_line(members.get("task")?.as_str()?)
}

/// Returns the first line that is not empty, shortened.
fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LONGEST).collect())
}

/// Returns the name of a subject without its source and the owner of its repository: `lantern#8` for `github:acme/lantern#8`.
fn subject_words(subject: &str) -> String {
    let (source, rest) = subject.split_once(':').unwrap_or(("", subject));
    if !matches!(source, "github" | "git") {
        return rest.to_owned();
    }
    let end = rest.find(['#', ':', '@']).unwrap_or(rest.len());
    let (repo, place) = rest.split_at(end);
    let repo = repo.rsplit('/').next().unwrap_or(repo);
    match place.split_at_checked(1) {
        None => repo.to_owned(),
        Some(("#", _)) => format!("{repo}{place}"),
        Some(("@", commit)) => {
            let commit: String = commit.chars().take(7).collect();
            format!("{repo}@{commit}")
        }
        Some((_, place)) => {
            let short = ["refs/heads/", "refs/tags/"]
                .iter()
                .find_map(|prefix| place.strip_prefix(prefix));
            match short {
                Some(name) => format!("{repo} {name}"),
                None => format!("{repo} {}", place.replace(['/', '_'], " ")),
            }
        }
    }
}

/// Returns what an output is: `pr-helper: comment on lantern#8`.
fn of_output(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    let (daemon, surface, target) = (text("daemon_id"), text("surface"), text("target"));
    if surface == "git" {
        let branch = target.strip_prefix("refs/heads/").unwrap_or(target);
        return format!("{daemon}: branch {branch}");
    }
    let place = subject_words(target);
    let what = match text("remote_id").split_once(':') {
        Some((kind, _)) if target.contains('#') => format!("{} on {place}", kind.replace('_', " ")),
        Some((kind, number)) => format!("{} {number} in {place}", kind.replace('_', " ")),
        None => format!("{surface} {place}"),
    };
    format!("{daemon}: {what}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Happening, of_output, subject_words};

    #[test]
    fn a_subject_is_named_without_its_source_and_owner() {
        for (subject, words) in [
            ("github:acme/lantern#8", "lantern#8"),
            ("github:acme/lantern", "lantern"),
            ("github:acme/lantern@0123456789ab", "lantern@0123456"),
            (
                "github:acme/lantern:secret_scanning_alert/4",
                "lantern secret scanning alert 4",
            ),
            ("git:acme/lantern:refs/heads/main", "lantern main"),
            ("git:acme/lantern:refs/heads/fix/a_b", "lantern fix/a_b"),
            ("git:notes:refs/tags/v1", "notes v1"),
            ("linear:PMP-3", "PMP-3"),
            ("slack:C1/1.0", "C1/1.0"),
            ("alone", "alone"),
        ] {
            assert_eq!(subject_words(subject), words);
        }
    }

    #[test]
    fn an_event_is_named_by_what_happened() {
        for (event, headline) in [
            (
                json!({"source": "git", "kind": "create", "subject": "git:o/r:refs/heads/fix/a", "actor": "ann"}),
                "r fix/a: branch created by ann",
            ),
            (
                json!({"source": "git", "kind": "delete", "subject": "git:o/r:refs/tags/v1"}),
                "r v1: tag deleted",
            ),
            (
                json!({"source": "linear", "kind": "Issue", "action": "update", "subject": "linear:PMP-3", "actor": "Ida"}),
                "PMP-3: Issue updated by Ida",
            ),
            (
                json!({"source": "github", "kind": "check_run", "action": "completed", "subject": "github:o/r#8"}),
                "r#8: check run completed",
            ),
        ] {
            assert_eq!(Happening::of_object(&event).headline(), headline);
        }
    }

    #[test]
    fn an_output_is_named_by_what_was_made_and_where() {
        let name = |surface: &str, target: &str, made: Option<&str>| {
            of_output(
                &json!({"daemon_id": "d", "surface": surface, "target": target, "remote_id": made}),
            )
        };
        let made = Some("issue_comment:5");
        assert_eq!(
            name("github", "github:o/r#8", made),
            "d: issue comment on r#8"
        );
        let made = Some("pull_request:3");
        assert_eq!(name("github", "github:o/r", made), "d: pull request 3 in r");
        assert_eq!(name("github", "github:o/r#8", None), "d: github r#8");
        assert_eq!(name("git", "daemon/d/x", None), "d: branch daemon/d/x");
    }
}
