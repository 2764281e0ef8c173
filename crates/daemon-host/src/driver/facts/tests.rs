mod nothing;

use std::collections::VecDeque;

use async_trait::async_trait;
use daemon_api::control::RunTokens;
use daemon_api::fire::FiredEvent;
use daemon_engine::{FactOrigin, Gate, HostEpoch};
use daemon_event::{Enrichment, Field, PullRequestFact, RepoName};
use daemon_records::clock::Clock;
use daemon_registry::{Definition, Registered};
use daemon_store::memory::MemoryStore;
use daemon_store::{DaemonRow, Events as _, Modes, Query, Validity};
use jiff::SignedDuration;

use super::*;
use crate::config::Config;
use crate::driver::{ClaimsPause, Host, HostParts, Runtime};
use crate::home::Home;

pub(in crate::driver) type Scripted = Result<Enrichment, FactErrorKind>;

/// Services that answer by script, and what they were asked.
#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Scripted>>,
    asked: Mutex<Vec<Need>>,
}

#[async_trait]
impl daemon_engine::Facts for Script {
    async fn fetch(&self, need: &Need, _event: &Event) -> Result<Fact, FactError> {
        self.asked.lock().unwrap().push(*need);
        let answer = self.answers.lock().unwrap().pop_front();
        match answer.expect("the script says what is answered") {
            Ok(found) => Ok(Fact {
                found,
                origin: FactOrigin::Api,
                note: None,
            }),
            Err(kind) => Err(FactError::new(kind, "no answer")),
        }
    }
}

/// A host without loops over a store in memory, and the time of its tries.
pub(in crate::driver) struct Rig {
    _scratch: tempfile::TempDir,
    pub(in crate::driver) store: MemoryStore,
    script: Arc<Script>,
    pub(in crate::driver) host: Arc<Host>,
    finder: FactFinder,
    begin: Timestamp,
}

impl Rig {
    /// Registers daemons of `o/r`, each with one condition, and services with scripted responses.
    pub(in crate::driver) fn new(daemons: &[(&str, &str)], answers: Vec<Scripted>) -> Self {
        Self::with_clock(
            daemons,
            answers,
            Arc::new(daemon_records::clock::SystemClock),
        )
    }

    /// Does the same with the clock of the test.
    pub(in crate::driver) fn with_clock(
        daemons: &[(&str, &str)],
        answers: Vec<Scripted>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let script = Arc::new(Script {
            answers: Mutex::new(answers.into()),
            asked: Mutex::default(),
        });
        let store = MemoryStore::new();
        let host = host(&scratch, &store, &script, Arc::clone(&clock));
        let rig = Self {
            _scratch: scratch,
            store,
            script,
            finder: host.fact_finder(),
            host,
            begin: clock.now(),
        };
        rig.register(daemons);
        rig
    }

    fn register(&self, daemons: &[(&str, &str)]) {
        let rows = daemons.iter().map(|(id, line)| daemon(id, line));
        self.host.registry().replace(&repo(), rows.collect());
    }

    /// Continues as the next host of this home: only with the store.
    fn restart(&mut self, daemons: &[(&str, &str)]) {
        let clock = Arc::clone(&self.host.registrations.clock);
        self.host = host(&self._scratch, &self.store, &self.script, clock);
        self.finder = self.host.fact_finder();
        self.register(daemons);
    }

    /// Stores an event and matches it.
    async fn accept_event(&self, kind: &str, body: &str) -> EventId {
        let fired = FiredEvent {
            source: match kind {
                "message" => Source::Slack,
                "Issue" => Source::Linear,
                _ => Source::Github,
            },
            kind: kind.to_owned(),
            body: body.as_bytes().to_vec(),
            delivery: None,
            enrichment: Enrichment::default(),
        };
        let event = fired.event(self.begin).unwrap();
        let new = daemon_api::intake::new_event(event, daemon_store::Matching::Due);
        let accepted = self.store.accept(vec![new]).await.unwrap();
        self.host.match_events().await.unwrap();
        accepted[0].id.clone()
    }

    /// Tries what is due this many seconds after the beginning.
    async fn try_at(&self, seconds: i64) {
        use daemon_store::WantedFacts as _;
        // The match stamped its own instant.
        let now =
            self.begin + SignedDuration::from_secs(seconds) + SignedDuration::from_millis(900);
        for row in self.store.due_facts(now, 10).await.unwrap() {
            attend(&self.finder, row, now).await.unwrap();
        }
    }

    fn asked(&self) -> usize {
        self.script.asked.lock().unwrap().len()
    }

    /// Names the daemons that an event woke, in their order.
    pub(in crate::driver) async fn woken(&self, id: &EventId) -> Vec<String> {
        let row = self.row(id).await;
        let woken = row.triggers.iter();
        woken.map(|one| one.daemon.id.to_string()).collect()
    }

    async fn row(&self, id: &EventId) -> EventRow {
        self.store.event(id).await.unwrap().unwrap()
    }

    /// Returns the state of each wanted fact of an event.
    async fn facts(&self, id: &EventId) -> Vec<String> {
        let row = self.row(id).await;
        let lines = row.wanted.iter().map(|fact| {
            let note = fact.note.as_deref().unwrap_or("-");
            format!(
                "{} {} {} {note}",
                fact.need,
                fact.state.as_str(),
                fact.tries
            )
        });
        lines.collect()
    }

    async fn activations(&self) -> usize {
        use daemon_store::Activations as _;
        let query = Query {
            limit: 100,
            ..Query::default()
        };
        self.store.activations(&query).await.unwrap().rows.len()
    }
}

fn host(
    scratch: &tempfile::TempDir,
    store: &MemoryStore,
    script: &Arc<Script>,
    clock: Arc<dyn Clock>,
) -> Arc<Host> {
    let runtime = Runtime {
        config: Arc::new(Config::default()),
        parts: nothing::parts(Arc::clone(script) as Arc<dyn daemon_engine::Facts>),
        generation: 1,
    };
    let home = Home::open(&scratch.path().join("home")).unwrap();
    Host::new(HostParts {
        home,
        store: Arc::new(store.clone()),
        epoch: HostEpoch(1),
        runtime,
        secrets: daemon_runner::secrets::HostSecrets::default(),
        clock,
        tokens: RunTokens::default(),
        claims: ClaimsPause::none(),
    })
}

fn repo() -> RepoName {
    "o/r".parse().unwrap()
}

fn daemon(id: &str, line: &str) -> Registered {
    let definition = Definition {
        v: 1,
        watch: vec![line.to_owned()],
        support: Vec::new(),
    };
    Registered::new(DaemonRow {
        key: DaemonKey {
            repo: repo(),
            id: id.parse().unwrap(),
        },
        path: format!(".agents/daemons/{id}/DAEMON.md"),
        rev: "r1".to_owned(),
        commit: "c1".to_owned(),
        purpose: String::new(),
        validity: Validity::Valid,
        diagnostics: "[]".to_owned(),
        definition: serde_json::to_string(&definition).unwrap(),
        modes: Modes::default(),
        schedule: None,
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: Timestamp::UNIX_EPOCH,
    })
}

fn opened(number: u64) -> String {
    format!(
        r#"{{"action":"opened","pull_request":{{"number":{number},"draft":false,"user":{{"login":"kit"}},"labels":[]}},
           "repository":{{"full_name":"o/r","default_branch":"main"}},"sender":{{"login":"kit"}}}}"#
    )
}

fn files(paths: &[&str]) -> Scripted {
    Ok(Enrichment {
        changed_files: Some(paths.iter().map(|path| (*path).to_owned()).collect()),
        ..Enrichment::default()
    })
}

const DOCS: &str = "when a pull request that touches docs/** is opened";
const ANY: &str = "when a pull request is opened";

#[tokio::test]
async fn an_event_wakes_once_when_its_fact_is_there_and_not_before() {
    let answers = vec![Err(FactErrorKind::Retryable), files(&["docs/a.md"])];
    let rig = Rig::new(&[("docs", DOCS), ("all", ANY)], answers);
    let id = rig.accept_event("pull_request", &opened(7)).await;
    assert_eq!(rig.woken(&id).await, ["all"], "what is known wakes at once");
    assert_eq!(rig.facts(&id).await, ["changed_files waiting 0 -"]);

    rig.try_at(0).await;
    assert_eq!(rig.woken(&id).await, ["all"]);
    assert_eq!(rig.facts(&id).await, ["changed_files waiting 1 no answer"]);
    rig.try_at(3).await;
    assert_eq!(rig.asked(), 1, "it is not time yet");
    rig.try_at(6).await;
    assert_eq!(rig.woken(&id).await, ["all", "docs"]);
    assert_eq!(rig.facts(&id).await, ["changed_files known 2 -"]);
    let row = rig.row(&id).await;
    let stored: Vec<&str> = row.event.facts.texts(Field::ChangedFiles).collect();
    assert_eq!(stored, ["docs/a.md"], "stored with the event");
    rig.try_at(100_000).await;
    assert_eq!((rig.asked(), rig.activations().await), (2, 2));
}

#[tokio::test]
async fn a_fact_is_asked_for_only_where_it_decides() {
    let lines = [
        (
            "label",
            "when a pull request labelled `bug` that touches docs/** is opened",
        ),
        (
            "draft",
            "when a draft pull request that touches docs/** is opened",
        ),
        (
            "closed",
            "when a pull request that touches docs/** is closed",
        ),
        ("any", ANY),
    ];
    let rig = Rig::new(&lines, Vec::new());
    let id = rig.accept_event("pull_request", &opened(7)).await;
    assert_eq!(rig.woken(&id).await, ["any"]);
    assert_eq!(rig.facts(&id).await, Vec::<String>::new());
    rig.try_at(0).await;
    assert_eq!(rig.asked(), 0);
}

#[tokio::test]
async fn a_fact_that_says_otherwise_wakes_nobody() {
    let rig = Rig::new(
        &[
            ("docs", DOCS),
            (
                "rest",
                "when a pull request that does not touch docs/** is opened",
            ),
        ],
        vec![files(&["src/a.rs"])],
    );
    let id = rig.accept_event("pull_request", &opened(7)).await;
    rig.try_at(0).await;
    assert_eq!(rig.woken(&id).await, ["rest"]);
    assert_eq!(rig.asked(), 1, "one request serves both");
}

#[tokio::test]
async fn the_next_host_goes_on_where_the_last_one_was() {
    let daemons = [("docs", DOCS)];
    let answers = vec![Err(FactErrorKind::Retryable), files(&["docs/a.md"])];
    let mut rig = Rig::new(&daemons, answers);
    let id = rig.accept_event("pull_request", &opened(7)).await;
    rig.try_at(0).await;
    rig.restart(&daemons);
    rig.try_at(3).await;
    assert_eq!((rig.asked(), rig.woken(&id).await), (1, Vec::new()));
    rig.try_at(6).await;
    assert_eq!(rig.woken(&id).await, ["docs"]);
    rig.restart(&daemons);
    rig.try_at(100_000).await;
    assert_eq!((rig.asked(), rig.activations().await), (2, 1));
}

#[tokio::test]
async fn what_cannot_be_had_is_given_up_and_said() {
    let rig = Rig::new(&[("docs", DOCS)], vec![Err(FactErrorKind::Final)]);
    let id = rig.accept_event("pull_request", &opened(7)).await;
    rig.try_at(0).await;
    rig.try_at(100_000).await;
    assert_eq!(rig.facts(&id).await, ["changed_files gave_up 1 no answer"]);
    assert_eq!((rig.asked(), rig.woken(&id).await), (1, Vec::new()));
}

#[tokio::test]
async fn a_service_that_wants_to_be_left_alone_is_for_every_event() {
    let limited = FactErrorKind::Limited(RetryAfter::For(SignedDuration::from_secs(600)));
    let answers = vec![Err(limited), files(&["docs/a"]), files(&["docs/a"])];
    let rig = Rig::new(&[("docs", DOCS)], answers);
    let first = rig.accept_event("pull_request", &opened(7)).await;
    rig.try_at(0).await;
    let second = rig.accept_event("pull_request", &opened(8)).await;
    rig.try_at(60).await;
    rig.try_at(500).await;
    assert_eq!(rig.asked(), 1);
    let facts = rig.facts(&second).await;
    let said = "changed_files waiting 1 the API of github accepts no requests until ";
    assert!(facts[0].starts_with(said), "{facts:?}");
    rig.try_at(610).await;
    assert_eq!(rig.asked(), 3);
    for id in [first, second] {
        assert_eq!(rig.woken(&id).await, ["docs"]);
    }
}

#[tokio::test]
async fn nothing_is_asked_for_a_daemon_that_is_gone() {
    let rig = Rig::new(&[("docs", DOCS)], Vec::new());
    let id = rig.accept_event("pull_request", &opened(7)).await;
    rig.register(&[("docs", ANY)]);
    rig.try_at(0).await;
    let said = "changed_files gave_up 0 no condition needs it any more";
    assert_eq!(rig.facts(&id).await, [said]);
    assert_eq!((rig.asked(), rig.woken(&id).await), (0, Vec::new()));
}

#[tokio::test]
async fn a_check_on_a_draft_stays_asleep_once_that_is_known() {
    let draft = |draft| {
        Ok(Enrichment {
            pull_requests: Some(vec![PullRequestFact {
                number: 7,
                draft: Some(draft),
                state: Some("open".to_owned()),
                ..PullRequestFact::default()
            }]),
            ..Enrichment::default()
        })
    };
    let line = "when a check fails on a non-draft pull request";
    let rig = Rig::new(&[("ci", line)], vec![draft(true), draft(false)]);
    let body = |context| {
        format!(
            r#"{{"state":"failure","context":"{context}","sha":"{}","repository":{{"full_name":"o/r"}}}}"#,
            "a".repeat(40)
        )
    };
    let asleep = rig.accept_event("status", &body("one")).await;
    rig.try_at(0).await;
    let awake = rig.accept_event("status", &body("two")).await;
    rig.try_at(1).await;
    assert_eq!(rig.woken(&asleep).await, Vec::<String>::new());
    assert_eq!(rig.woken(&awake).await, ["ci"]);
    assert_eq!(rig.asked(), 2);
}

#[tokio::test]
async fn two_facts_of_one_event_have_their_own_times_and_stand_beside_each_other() {
    let base = Ok(Enrichment {
        pull_requests: Some(vec![PullRequestFact {
            number: 7,
            base: Some("main".to_owned()),
            ..PullRequestFact::default()
        }]),
        ..Enrichment::default()
    });
    let daemons = [
        (
            "base",
            "when someone comments on a pull request targeting main",
        ),
        (
            "docs",
            "when someone comments on a pull request that changes docs/**",
        ),
    ];
    let answers = vec![Err(FactErrorKind::Retryable), base, files(&["docs/a.md"])];
    let rig = Rig::new(&daemons, answers);
    let body = r#"{"action":"created","issue":{"number":7,"pull_request":{"url":"u"}},"comment":{"body":"x","user":{"login":"kit"}},
        "repository":{"full_name":"o/r","default_branch":"main"},"sender":{"login":"kit"}}"#;
    let id = rig.accept_event("issue_comment", body).await;
    rig.try_at(0).await;
    assert_eq!(rig.woken(&id).await, ["base"]);
    // What waits for its time is not tried along with anything else.
    let row = rig.row(&id).await;
    let now = rig.begin + SignedDuration::from_secs(3);
    attend(&rig.finder, row, now).await.unwrap();
    assert_eq!(rig.asked(), 2);
    rig.try_at(6).await;
    assert_eq!(rig.woken(&id).await, ["base", "docs"]);
    let facts = rig.row(&id).await.event.facts;
    let known = [Field::Base, Field::ChangedFiles].map(|field| facts.text(field));
    assert_eq!(known, [Some("main"), Some("docs/a.md")]);
}

#[tokio::test]
async fn a_label_that_is_gone_has_the_name_that_another_event_tells() {
    let line = "when the bug label is removed from a Linear issue";
    let rig = Rig::new(&[("ops", line)], Vec::new());
    let body = |labels: &str, before: &str| {
        format!(
            r#"{{"action":"update","type":"Issue","createdAt":"2026-01-02T03:04:05Z",
               "data":{{"id":"i1","identifier":"ENG-1","title":"x","labels":[{labels}]}},
               "updatedFrom":{{"labelIds":[{before}]}}}}"#
        )
    };
    let removed = rig.accept_event("Issue", &body("", r#""l-1""#)).await;
    rig.try_at(0).await;
    assert_eq!(
        rig.facts(&removed).await,
        ["label_name waiting 1 no stored event names the label l-1"]
    );
    rig.accept_event("Issue", &body(r#"{"id":"l-1","name":"Bug"}"#, ""))
        .await;
    rig.try_at(3600).await;
    assert_eq!(rig.woken(&removed).await, ["ops"]);
    assert_eq!(rig.asked(), 0, "no service is asked");
}

#[tokio::test]
async fn a_channel_is_named_before_a_message_wakes() {
    let named = |name: &str| {
        Ok(Enrichment {
            channel_name: Some(name.to_owned()),
            ..Enrichment::default()
        })
    };
    let line = "when a message is posted in #incidents";
    let rig = Rig::new(&[("ops", line)], vec![named("general"), named("incidents")]);
    let body = |ts: u8| {
        format!(
            r#"{{"type":"event_callback","event":{{"type":"message","channel":"C1","user":"U1","text":"x","ts":"{ts}.0"}}}}"#
        )
    };
    let asleep = rig.accept_event("message", &body(1)).await;
    rig.try_at(0).await;
    let awake = rig.accept_event("message", &body(2)).await;
    rig.try_at(1).await;
    assert_eq!(rig.woken(&asleep).await, Vec::<String>::new());
    assert_eq!(rig.woken(&awake).await, ["ops"]);
}
