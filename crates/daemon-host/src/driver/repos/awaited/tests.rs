use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{Joining, NewTrigger, Trigger};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use daemon_records::clock;
use daemon_records::random;
use daemon_repo::{ObjectId, Repository};
use daemon_store::Activations as _;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use super::look;
use crate::driver::facts::tests::Rig;
use crate::driver::repos::{Git, Watched};

/// Runs git in a directory and returns what it printed.
fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "Ann"),
            ("GIT_AUTHOR_EMAIL", "ann@example.com"),
            ("GIT_COMMITTER_NAME", "Ann"),
            ("GIT_COMMITTER_EMAIL", "ann@example.com"),
        ])
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a repository with one commit, and returns it with that commit.
pub(in crate::driver::repos) fn repository(dir: &Path) -> (Watched, ObjectId) {
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    git(
        dir,
        &["commit", "--quiet", "--allow-empty", "--message", "begin"],
    );
    let commit = git(dir, &["rev-parse", "HEAD"]).parse().unwrap();
    let program = daemon_repo::Git::find("/usr/local/bin:/usr/bin:/bin".as_ref()).unwrap();
    let watched = Watched {
        name: "o/r".parse().unwrap(),
        repository: Repository::open(&program, dir).unwrap(),
        branch: None,
        remote: None,
        source: daemon_repo::FetchSource::new(None),
        zone: None,
        poll: Duration::from_secs(30),
    };
    (watched, commit)
}

/// Makes an activation that waits for a commit an hour from now on.
async fn awaiting(rig: &Rig, n: usize, commit: ObjectId) -> ActivationId {
    let now = clock::now();
    let trigger = NewTrigger {
        daemon: DaemonKey {
            repo: "o/r".parse().unwrap(),
            id: "opened".parse().unwrap(),
        },
        rev: "r1".to_owned(),
        subject: format!("github:o/r#{n}").parse().ok(),
        trigger: Trigger {
            key: TriggerKey::Event(random::event_id(now)),
            conditions: vec![0],
            by: None,
            occasion: None,
            recorded_at: now,
        },
        activation_id: random::activation_id(now),
        not_before: now + SignedDuration::from_hours(1),
        joining: Joining::Coalesce,
        link: None,
    };
    let id = trigger.activation_id.clone();
    rig.store.enqueue(trigger).await.unwrap();
    let activation = rig.store.activation(&id).await.unwrap().unwrap();
    rig.host.reader.awaited.insert(&activation, vec![commit]);
    id
}

#[tokio::test]
async fn every_awaited_commit_is_looked_for_and_what_has_ended_is_forgotten() {
    let rig = Rig::new(&[("opened", "when a pull request is opened")], Vec::new());
    let dir = tempfile::tempdir().unwrap();
    let (watched, commit) = repository(dir.path());
    rig.host
        .registrations
        .states
        .registered(&watched.name, commit.as_str());
    let mut waiting = Vec::new();
    for n in 0..200 {
        let invented = format!("{:040x}", n + 1).parse().unwrap();
        waiting.push(awaiting(&rig, n, invented).await);
    }
    let last = awaiting(&rig, 200, commit).await;
    let cancelled = waiting.remove(7);
    rig.store
        .cancel(&cancelled, "the daemon was removed", clock::now())
        .await
        .unwrap();

    let stop = CancellationToken::new();
    let repo = Arc::new(watched);
    let git = Git {
        repo: &repo,
        stop: &stop,
    };
    look(&rig.host.reader, &git).await.unwrap();
    let found = rig.store.activation(&last).await.unwrap().unwrap();
    assert!(found.not_before <= clock::now(), "it is ready: {found:?}");
    let left: BTreeSet<ActivationId> = rig.host.reader.awaited.lock().keys().cloned().collect();
    assert_eq!(left, waiting.into_iter().collect());
}
