mod answers;

use daemon_engine::Activation;
use daemon_event::{Enrichment, RepoName, Source};
use daemon_store::{Accepted, Activations as _, Events as _, Matching, Query};
use serde_json::{Value, json};

use daemon_api::fire::FiredEvent;
use daemon_dispatch::Concern;
use daemon_records::clock;

use super::match_waiting;
use crate::driver::dispatch::Driver;
use crate::driver::facts::tests::Rig;

/// Stores a report as a source sends it.
async fn report(rig: &Rig, (source, kind): (Source, &str), body: &Value) -> Vec<Accepted> {
    let fired = FiredEvent {
        source,
        kind: kind.to_owned(),
        body: body.to_string().into_bytes(),
        delivery: None,
        enrichment: Enrichment::default(),
    };
    let event = fired.event(clock::now()).unwrap();
    let new = daemon_api::intake::new_event(event, Matching::Due);
    let accepted = rig.store.accept(vec![new]).await.unwrap();
    rig.host.matcher.backlog.add(&accepted);
    accepted
}

#[tokio::test]
async fn an_event_due_again_is_matched_while_another_repository_is_unread() {
    let daemons = [
        ("labelled", "when a pull request labeled docs is merged"),
        ("merged", "when a pull request is merged"),
    ];
    let rig = Rig::new(&daemons, Vec::new());
    let states = &rig.host.registrations.states;
    states.never_read("o/unread".parse().unwrap(), clock::now());
    let mut driver = Driver::new(&rig.host, &[Concern::Matching]);
    let [(_, _, merge), (_, _, closed)] = merged("a1");
    let first = report(&rig, (Source::Git, "merge"), &merge).await;
    match_waiting(&mut driver).await.unwrap();
    assert_eq!(rig.woken(&first[0].id).await, ["merged"]);

    let second = report(&rig, (Source::Github, "pull_request"), &closed).await;
    assert_eq!(second[0].id, first[0].id);
    match_waiting(&mut driver).await.unwrap();
    assert_eq!(rig.woken(&first[0].id).await, ["merged", "labelled"]);
}

/// Writes the two reports of a merge of a pull request labelled `docs`.
fn merged(commit: &str) -> [(Source, &'static str, Value); 2] {
    let repository = json!({"full_name": "o/r", "default_branch": "main"});
    let merge = json!({
        "ref": "refs/heads/main", "ref_type": "branch", "before": "a0", "after": commit,
        "repository": repository, "sender": {"login": "kit"},
    });
    let closed = json!({
        "action": "closed", "number": 7, "repository": repository, "sender": {"login": "kit"},
        "pull_request": {
            "number": 7, "base": {"ref": "main"}, "merged": true, "merge_commit_sha": commit, "draft": false,
            "user": {"login": "kit"}, "labels": [{"name": "docs"}],
        },
    });
    [
        (Source::Git, "merge", merge),
        (Source::Github, "pull_request", closed),
    ]
}

/// Names what the activations are about, with their daemons.
async fn subjects(rig: &Rig) -> Vec<(String, String)> {
    let query = Query {
        limit: 100,
        ..Query::default()
    };
    let page = rig.store.activations(&query).await.unwrap();
    let about = |one: &Activation| {
        let subject = one.subject.as_ref().map(ToString::to_string);
        (one.daemon.id.to_string(), subject.unwrap_or_default())
    };
    let mut subjects: Vec<_> = page.rows.iter().map(about).collect();
    subjects.sort();
    subjects
}

#[tokio::test]
async fn an_activation_is_about_what_matched_whichever_report_came_first() {
    let daemons = [
        ("labelled", "when a pull request labeled docs is merged"),
        ("merged", "when a pull request is merged"),
    ];
    let about = |id: &str| (id.to_owned(), "github:o/r#7".to_owned());
    let both = [about("labelled"), about("merged")];
    let by_git = ("merged".to_owned(), "git:o/r:refs/heads/main".to_owned());
    // In both orders, and with the second report before and after the first was matched.
    for (order, is_matched_between, expected) in [
        ([0, 1], false, both.clone()),
        ([1, 0], false, both.clone()),
        ([1, 0], true, both),
        // Git alone says nothing of the pull request, and a daemon is woken once.
        ([0, 1], true, [about("labelled"), by_git]),
    ] {
        let rig = Rig::new(&daemons, Vec::new());
        let mut driver = Driver::new(&rig.host, &[Concern::Matching]);
        let reports = merged("a1");
        for place in order {
            let (source, kind, body) = &reports[place];
            report(&rig, (*source, kind), body).await;
            if is_matched_between {
                match_waiting(&mut driver).await.unwrap();
            }
        }
        match_waiting(&mut driver).await.unwrap();
        assert_eq!(
            subjects(&rig).await,
            expected,
            "{order:?} {is_matched_between}"
        );
    }
}

/// Writes the body of a push to a branch of a repository.
fn pushed(repo: &str, n: usize) -> Value {
    json!({
        "ref": "refs/heads/main", "ref_type": "branch", "before": format!("b{n}"), "after": format!("a{n}"),
        "repository": {"full_name": repo, "default_branch": "main"}, "sender": {"login": "kit"},
    })
}

#[tokio::test]
async fn events_of_an_unread_repository_are_counted_as_waiting() {
    let rig = Rig::new(&[("pushed", "when a commit is pushed")], Vec::new());
    let other: RepoName = "o/unread".parse().unwrap();
    let (states, backlog) = (&rig.host.registrations.states, &rig.host.matcher.backlog);
    states.never_read(other.clone(), clock::now());
    let mut driver = Driver::new(&rig.host, &[Concern::Matching]);
    for n in 0..300 {
        let repo = match n % 3 {
            0 => "o/r",
            _ => "o/unread",
        };
        report(&rig, (Source::Github, "push"), &pushed(repo, n)).await;
        if n % 50 == 0 {
            match_waiting(&mut driver).await.unwrap();
        }
    }
    match_waiting(&mut driver).await.unwrap();
    assert_eq!(backlog.n_waiting(), 200);
    // What repeats an event changes nothing, and neither does another report of one.
    report(&rig, (Source::Github, "push"), &pushed("o/r", 0)).await;
    assert_eq!(backlog.take_due_again(), []);
    let again = report(&rig, (Source::Git, "push"), &pushed("o/r", 0)).await;
    report(&rig, (Source::Git, "push"), &pushed("o/unread", 1)).await;
    match_waiting(&mut driver).await.unwrap();
    assert_eq!(backlog.n_waiting(), 200);
    let matched = rig.store.event(&again[0].id).await.unwrap().unwrap();
    assert_eq!(matched.matching, Matching::Done);

    states.registered(&other, "c1");
    match_waiting(&mut driver).await.unwrap();
    assert_eq!(backlog.n_waiting(), 0);
}
