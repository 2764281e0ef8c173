//! Reading of conditions, and search for those that an event meets.

use std::collections::HashMap;
use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use daemon_event::{DeliveryId, Enrichment, Event, EventId, Field, RepoName, Source, read};
use daemon_watch::{Interpretation, MatchIndex, WakeVerdict, interpret};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::Timestamp;

use crate::fixtures;
use crate::kit::{Contender, Sample, measure, once};
use crate::report::{Row, duration};

const N_DAEMONS: usize = 10_000;
const CONDITIONS_PER_DAEMON: usize = 3;
const N_REPOSITORIES: usize = 1_000;
/// How often each line is read.
const TRIES: usize = 3;
/// In nanoseconds.
const MOST_FOR_A_LINE: f64 = 80_000.0;
const MOST_FOR_P99: f64 = 1_000_000.0;

/// Conditions with a value that differs from daemon to daemon.
const TEMPLATES: [&str; 10] = [
    "when a pull request labeled \"area-{n}\" is opened",
    "when files matching src/area-{n}/**/*.rs are changed",
    "when the label area-{n} is added to a pull request",
    "when a maintainer comments \"/area-{n} help\" in a PR",
    "when a commit is pushed to release/{n}",
    "when files matching docs/area-{n}/**/*.md are changed",
    "when a pull request is merged into release/{n}",
    "when an issue is labeled \"area-{n}\"",
    "when a pull request is opened by user-{n}",
    "when a PR comment containing \"area {n}\" is created",
];

pub(super) fn interpret_one() -> Result<Row> {
    // The first line also loads the grammar.
    let loading = once(|| drop(black_box(interpret("when a pull request is opened"))));
    let text = std::fs::read_to_string(fixtures::folder().join("watch/phrases.txt"))?;
    let phrases: Vec<&str> = text.lines().collect();
    let n_waking = phrases
        .iter()
        .filter(|phrase| interpret(phrase).status.can_wake())
        .count();
    ensure!(
        n_waking * 2 > phrases.len(),
        "only {n_waking} of {} conditions are understood",
        phrases.len()
    );
    let mut times: Vec<f64> = phrases.iter().map(|phrase| quickest(phrase)).collect();
    times.sort_by(f64::total_cmp);
    let p99 = times[(times.len() - 1) * 99 / 100];
    let ours = Sample::of("daemon-watch", times);
    Ok(Row::new("watch-interpret", "read one condition", &ours)
        .must_take_at_most(&ours, MOST_FOR_A_LINE)
        .must(
            format!("p99 ≤ {}", duration(MOST_FOR_P99)),
            duration(p99),
            p99 <= MOST_FOR_P99,
        )
        .note(format!(
            "{} conditions of fixtures/watch, {n_waking} of which can wake a daemon, each read {TRIES} times. The first line of a process \
             also loads the grammar, which took {}.",
            phrases.len(),
            duration(loading.as_secs_f64() * 1e9)
        )))
}

/// Returns the quickest of some readings of a line, in nanoseconds: the others were interrupted.
fn quickest(line: &str) -> f64 {
    let read = |_| once(|| drop(black_box(interpret(black_box(line))))).as_secs_f64() * 1e9;
    (0..TRIES).map(read).fold(f64::INFINITY, f64::min)
}

pub(super) fn match_many() -> Result<Row> {
    let scene = Scene::new(N_REPOSITORIES)?;
    let index = scene.index();
    scene.check(
        |event, acc| index.matches(event, acc),
        |event, acc| scene.scan(event, acc),
    )?;
    let [ours, scan] = scene.race(
        ("daemon-watch", &|event, acc| index.matches(event, acc)),
        ("linear scan", &|event, acc| scene.scan(event, acc)),
    );
    let n_allocations = scene.allocations_of_a_miss(&index)?;
    Ok(Row::new(
        "watch-match",
        "find what one event wakes, 10,000 daemons × 3 conditions over 1,000 repositories",
        &ours,
    )
    .compared_with(&ours, &scan)
    .must_beat(&ours, &scan, 30.0)
    .must_take_at_most(&ours, 1_000.0)
    .must(
        "no allocation on a miss",
        format!("{n_allocations}"),
        n_allocations == 0,
    )
    .note(
        "The scan compares the repository first, then source, kind and action, then the filters.",
    ))
}

pub(super) fn match_one_repository() -> Result<Row> {
    let scene = Scene::new(1)?;
    let index = scene.index();
    let by_kind = KindIndex::new(&scene)?;
    scene.check(
        |event, acc| index.matches(event, acc),
        |event, acc| by_kind.matches(event, acc),
    )?;
    let [ours, peer] = scene.race(
        ("daemon-watch", &|event, acc| index.matches(event, acc)),
        ("kind index with one GlobSet", &|event, acc| {
            by_kind.matches(event, acc);
        }),
    );
    Ok(
        Row::new("watch-match-one", "the same on one repository", &ours)
            .compared_with(&ours, &peer)
            .must_beat(&ours, &peer, 5.0)
            .must_take_at_most(&ours, 10_000.0),
    )
}

/// The number of a daemon and of its condition.
type Met = (u32, usize);
type Matcher<'a> = &'a dyn Fn(&Event, &mut Vec<Met>);

pub(super) struct Scene {
    conditions: Vec<Condition>,
    events: Vec<Event>,
}

struct Condition {
    repo: RepoName,
    met: Met,
    meaning: Interpretation,
}

impl Scene {
    pub(super) fn new(n_repositories: usize) -> Result<Self> {
        let mut conditions = Vec::with_capacity(N_DAEMONS * CONDITIONS_PER_DAEMON);
        for daemon in 0..N_DAEMONS {
            for number in 0..CONDITIONS_PER_DAEMON {
                let template =
                    TEMPLATES[(daemon * CONDITIONS_PER_DAEMON + number) % TEMPLATES.len()];
                let text = template.replace("{n}", &daemon.to_string());
                let meaning = interpret(&text);
                ensure!(meaning.status.can_wake(), "`{text}` is not understood");
                let met = (u32::try_from(daemon)?, number);
                conditions.push(Condition {
                    repo: repository(daemon % n_repositories)?,
                    met,
                    meaning,
                });
            }
        }
        let mut events = Vec::new();
        for n in 0..64 {
            let daemon = n * 157 % N_DAEMONS;
            let repo = repository(daemon % n_repositories)?;
            events.push(pull_request(daemon, repo.clone())?);
            events.push(push(daemon, repo.clone())?);
            events.push(comment(daemon, repo)?);
        }
        Ok(Self { conditions, events })
    }

    pub(super) fn index(&self) -> MatchIndex<u32> {
        let mut index = MatchIndex::new();
        for Condition {
            repo,
            met: (daemon, number),
            meaning,
        } in &self.conditions
        {
            index.insert(repo, daemon, *number, meaning);
        }
        index
    }

    fn scan(&self, event: &Event, acc: &mut Vec<Met>) {
        for condition in &self.conditions {
            if event.repo.as_ref() == Some(&condition.repo)
                && condition.meaning.wakes(event) == WakeVerdict::Wakes
            {
                acc.push(condition.met);
            }
        }
    }

    fn check(
        &self,
        ours: impl Fn(&Event, &mut Vec<Met>),
        peer: impl Fn(&Event, &mut Vec<Met>),
    ) -> Result<()> {
        let mut n_met = 0;
        for event in &self.events {
            let [mut by_ours, mut by_peer] = [const { Vec::new() }; 2];
            ours(event, &mut by_ours);
            peer(event, &mut by_peer);
            by_ours.sort_unstable();
            by_peer.sort_unstable();
            ensure!(
                by_ours == by_peer,
                "an event of `{}` wakes {by_ours:?} and {by_peer:?}",
                event.kind
            );
            n_met += by_ours.len();
        }
        ensure!(
            n_met >= self.events.len() / 4,
            "only {n_met} conditions are met by {} events",
            self.events.len()
        );
        Ok(())
    }

    fn race(
        &self,
        ours: (&'static str, Matcher<'_>),
        peer: (&'static str, Matcher<'_>),
    ) -> [Sample; 2] {
        let contenders = [ours, peer].map(|(name, matches)| {
            let mut acc = Vec::new();
            Contender::new(name, self.events.len(), move || {
                for event in &self.events {
                    acc.clear();
                    matches(black_box(event), &mut acc);
                    black_box(&acc);
                }
            })
        });
        measure(contenders.into())
            .try_into()
            .expect("two contenders went in")
    }

    fn allocations_of_a_miss(&self, index: &MatchIndex<u32>) -> Result<u64> {
        let body = br#"{"action":"created","starred_at":"2026-11-20T08:00:00Z","repository":{"full_name":"acme/kettle-7"}}"#;
        let miss = event("star", body, repository(7)?, Enrichment::default())?;
        let mut acc = Vec::new();
        let counted = allocation_counter::measure(|| index.matches(&miss, &mut acc));
        ensure!(acc.is_empty(), "a star wakes {acc:?}");
        Ok(counted.count_total)
    }
}

/// A simple index as a user would write it: conditions by kind, and their path globs in one set.
struct KindIndex<'a> {
    by_kind: HashMap<(Source, &'static str), Kind<'a>>,
}

#[derive(Default)]
struct Kind<'a> {
    without_paths: Vec<&'a Condition>,
    with_paths: Vec<&'a Condition>,
    globs: GlobSet,
}

impl<'a> KindIndex<'a> {
    fn new(scene: &'a Scene) -> Result<Self> {
        let mut by_kind: HashMap<_, Kind<'a>> = HashMap::new();
        let mut builders: HashMap<_, GlobSetBuilder> = HashMap::new();
        for condition in &scene.conditions {
            let globs = globs(&condition.meaning);
            let mut kinds: Vec<_> = condition
                .meaning
                .clauses
                .iter()
                .flat_map(|clause| &clause.events)
                .map(|event| (event.source, event.kind))
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            for kind in kinds {
                let entry = by_kind.entry(kind).or_default();
                let Some(glob) = globs.first() else {
                    entry.without_paths.push(condition);
                    continue;
                };
                entry.with_paths.push(condition);
                let glob = GlobBuilder::new(glob).literal_separator(true).build()?;
                builders
                    .entry(kind)
                    .or_insert_with(GlobSetBuilder::new)
                    .add(glob);
            }
        }
        for (kind, builder) in builders {
            by_kind.entry(kind).or_default().globs = builder.build()?;
        }
        Ok(Self { by_kind })
    }

    fn matches(&self, event: &Event, acc: &mut Vec<Met>) {
        let found = self
            .by_kind
            .iter()
            .find(|((source, kind), _)| *source == event.source && *kind == event.kind);
        let Some((_, kind)) = found else { return };
        let mut candidates: Vec<&Condition> = kind.without_paths.clone();
        for path in event.facts.texts(Field::ChangedFiles) {
            candidates.extend(
                kind.globs
                    .matches(path)
                    .into_iter()
                    .map(|at| kind.with_paths[at]),
            );
        }
        let begin = acc.len();
        for condition in candidates {
            if condition.meaning.wakes(event) == WakeVerdict::Wakes
                && !acc[begin..].contains(&condition.met)
            {
                acc.push(condition.met);
            }
        }
    }
}

fn globs(meaning: &Interpretation) -> Vec<&str> {
    let paths = meaning
        .filters
        .iter()
        .filter(|filter| filter.test.field() == Field::ChangedFiles);
    paths
        .flat_map(|filter| filter.test.values())
        .map(String::as_str)
        .collect()
}

fn repository(n: usize) -> Result<RepoName> {
    Ok(format!("acme/kettle-{n}").parse()?)
}

fn pull_request(daemon: usize, repo: RepoName) -> Result<Event> {
    let path = fixtures::folder().join("watch/pull_request.opened.json");
    let body = std::fs::read_to_string(path)?.replace("\"bug\"", &format!("\"area-{daemon}\""));
    let files = [
        format!("src/area-{daemon}/lid/sensor.rs"),
        format!("docs/area-{}/lid.md", daemon + 1),
        "README.md".to_owned(),
    ];
    let enrichment = Enrichment {
        changed_files: Some(files.into()),
        ..Enrichment::default()
    };
    event("pull_request", body.as_bytes(), repo, enrichment)
}

fn push(daemon: usize, repo: RepoName) -> Result<Event> {
    let path = fixtures::folder().join("watch/push.json");
    let body = std::fs::read_to_string(path)?.replace("docs/care", &format!("docs/area-{daemon}"));
    event("push", body.as_bytes(), repo, Enrichment::default())
}

/// Returns a comment of a maintainer with a command to one daemon, and with a phrase that another daemon matches.
fn comment(daemon: usize, repo: RepoName) -> Result<Event> {
    let text = format!(
        "Thanks, the lid closes well now. Two more places need the same change before this can go in.\n\n\
         /area-{daemon} help\n\nThe sensor of area {} reads a little high on cold mornings.",
        daemon + 1
    );
    let body = serde_json::json!({
        "action": "created",
        "comment": {"body": text, "user": {"login": "mira"}, "author_association": "MEMBER"},
        "issue": {"number": 41, "title": "Close the lid", "user": {"login": "kit"}, "pull_request": {"url": "u"}},
        "sender": {"login": "mira"},
    });
    event(
        "issue_comment",
        body.to_string().as_bytes(),
        repo,
        Enrichment::default(),
    )
}

fn event(kind: &str, body: &[u8], repo: RepoName, enrichment: Enrichment) -> Result<Event> {
    let reading = read(Source::Github, kind, body, &enrichment)
        .with_context(|| format!("failed to read a `{kind}`"))?;
    let at = Timestamp::UNIX_EPOCH;
    Ok(Event {
        id: EventId::new(0, [0; 10]),
        source: Source::Github,
        kind: kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        repo: Some(repo),
        time: at,
        received_at: at,
        delivery: "measured".parse::<DeliveryId>()?,
        facts: reading.facts,
        payload: body.into(),
    })
}
