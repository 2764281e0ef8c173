//! The pull request at whose head a run works.

use daemon_engine::proposal::{OutputTarget, OwnOutput, PullHead, TargetKind};
use daemon_event::{Event, Field, Source, branch_ref};
use daemon_repo::{ObjectId, RefName};

use super::checkout::naming;

/// Returns the pull request whose head is the commit of a run, by the newest event that names a commit; `own` are the outputs of
/// the daemon.
///
/// Only GitHub itself is believed, since what the event says becomes the branch that is pushed to.
pub(super) fn pull_head(
    events: &[Event],
    commit: &ObjectId,
    own: &[OwnOutput],
) -> Option<PullHead> {
    let (event, _) = naming(events)?;
    let facts = &event.facts;
    let pull: OutputTarget = event.subject.as_ref()?.as_str().parse().ok()?;
    let after = facts.text(Field::After).unwrap_or_default();
    let is_head = event.source == Source::Github
        && pull.kind() == TargetKind::GithubNumber
        // Otherwise it is the merge commit of the pull request.
        && after.eq_ignore_ascii_case(commit.as_str());
    is_head.then(|| PullHead {
        branch: own_branch(event, &pull, own).or_else(|| branch(event)),
        pull,
    })
}

/// Returns the branch of a pull request that the daemon opened, if the event is about that branch. Checks name no repository of
/// the branch, but the daemon's own is in the watched one.
fn own_branch(event: &Event, pull: &OutputTarget, own: &[OwnOutput]) -> Option<String> {
    let opened = |own: &&OwnOutput| own.made.as_ref().is_some_and(|made| made.is(pull));
    let head = own.iter().find(opened)?.head.clone()?;
    let named = [Field::Head, Field::Branch]
        .into_iter()
        .flat_map(|field| event.facts.texts(field));
    let is_it = named.map(branch_ref).any(|name| name == head);
    is_it.then_some(head)
}

/// Returns the branch that the event names; `None` if it is, or may be, in a fork.
fn branch(event: &Event) -> Option<String> {
    let facts = &event.facts;
    let mut heads = facts.texts(Field::Head);
    let head = heads.next().filter(|_| heads.next().is_none())?;
    let is_fork = match facts.flag(Field::Fork) {
        Some(is_fork) => is_fork,
        // GitHub lists no pull request of a fork in checks.
        None => facts.texts(Field::PullRequests).count() != 1,
    };
    let is_default = facts.text(Field::DefaultBranch) == Some(head);
    let branch = RefName::branch(head).ok()?;
    (!is_fork && !is_default).then(|| branch.to_string())
}

#[cfg(test)]
mod tests {
    use daemon_engine::proposal::OutputVerb;
    use daemon_event::{DeliveryId, Enrichment, EventId};
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn event(source: Source, kind: &str, body: &Value) -> Event {
        let body = body.to_string();
        let read =
            daemon_event::read(source, kind, body.as_bytes(), &Enrichment::default()).unwrap();
        Event {
            id: EventId::new(1_700_000_000_000, [7; 10]),
            source,
            kind: kind.to_owned(),
            action: read.action,
            subject: read.subject,
            actor: read.actor,
            repo: read.repo,
            time: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            delivery: "d-1".parse::<DeliveryId>().unwrap(),
            facts: read.facts,
            payload: body.into_bytes().into(),
        }
    }

    fn pull_request(head_repo: &str, head: &str) -> Event {
        let body = json!({
            "action": "synchronize", "number": 42,
            "repository": {"full_name": "o/r", "default_branch": "main"},
            "pull_request": {
                "number": 42, "state": "open",
                "base": {"ref": "next", "repo": {"full_name": "o/r"}},
                "head": {"ref": head, "sha": COMMIT, "repo": {"full_name": head_repo}},
            },
        });
        event(Source::Github, "pull_request", &body)
    }

    fn check(numbers: &[u64]) -> Event {
        let row = |number: &u64| json!({"number": number, "head": {"ref": "daemon/a/rolling"}});
        let pulls: Vec<Value> = numbers.iter().map(row).collect();
        let body = json!({
            "action": "completed",
            "repository": {"full_name": "o/r", "default_branch": "main"},
            "check_run": {
                "id": 9, "name": "ci", "status": "completed", "conclusion": "failure",
                "head_sha": COMMIT, "pull_requests": pulls,
                "check_suite": {"head_branch": "daemon/a/rolling"},
            },
        });
        event(Source::Github, "check_run", &body)
    }

    fn branch_at(event: Event, commit: &str, own: &[OwnOutput]) -> Option<Option<String>> {
        pull_head(&[event], &commit.parse().unwrap(), own).map(|head| head.branch)
    }

    #[test]
    fn the_branch_of_a_pull_request_is_known_unless_it_is_elsewhere() {
        let topic = || pull_request("o/r", "topic");
        let branch = Some(Some("refs/heads/topic".to_owned()));
        assert_eq!(branch_at(topic(), COMMIT, &[]), branch);
        assert_eq!(
            branch_at(pull_request("ann/r", "topic"), COMMIT, &[]),
            Some(None)
        );
        assert_eq!(
            branch_at(pull_request("o/r", "main"), COMMIT, &[]),
            Some(None)
        );
        // The run works at the merge commit.
        assert_eq!(branch_at(topic(), &COMMIT.replace('0', "1"), &[]), None);
        let forged = Event {
            source: Source::Cloudevents,
            ..topic()
        };
        assert_eq!(branch_at(forged, COMMIT, &[]), None);
    }

    #[test]
    fn a_check_is_about_the_branch_of_its_one_pull_request() {
        let rolling = "refs/heads/daemon/a/rolling".to_owned();
        assert_eq!(
            branch_at(check(&[57]), COMMIT, &[]),
            Some(Some(rolling.clone()))
        );
        assert_eq!(branch_at(check(&[57, 58]), COMMIT, &[]), Some(None));
        let own = OwnOutput {
            key: "4ymwin7k4k363ohv3ycu7vcqhh".parse().unwrap(),
            verb: OutputVerb::OpenPullRequest,
            on: "github:o/r".parse().unwrap(),
            made: Some("github:o/r#57".parse().unwrap()),
            head: Some(rolling.clone()),
            slot: None,
            remote_id: "pull_request:57".to_owned(),
        };
        assert_eq!(
            branch_at(check(&[57, 58]), COMMIT, &[own]),
            Some(Some(rolling))
        );
    }
}
