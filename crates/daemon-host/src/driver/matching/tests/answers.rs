//! Two daemons that answer each other for a day of virtual time, by comments, by branches, and by both.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_engine::{
    Activation, ActivationState, AttemptEnd, AttemptOutcome, ClaimRequest, HostEpoch, NewOutput,
    Output, OutputKey, OutputState, Rates, RemoteId, Settlement,
};
use daemon_event::{DaemonId, DaemonKey, EventId, TriggerKey};
use daemon_records::clock::Clock;
use daemon_store::{Daemons as _, Outbox as _, Registration};
use jiff::{SignedDuration, Timestamp};

use super::*;

/// A clock that shows the time that the test sets.
#[derive(Debug)]
struct SetClock(Mutex<Timestamp>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn since_boot(&self) -> Duration {
        let since = self.now().duration_since(Timestamp::UNIX_EPOCH);
        since.try_into().unwrap()
    }
}

/// What a daemon does whenever it is woken, and what reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// A branch, reported by the local repository.
    Git,
    /// A comment, reported by a webhook.
    Webhook,
    /// Both; webhooks report the branch, too.
    Both,
}

impl Route {
    fn surfaces(self) -> &'static [&'static str] {
        match self {
            Self::Git => &["git"],
            Self::Webhook => &["github"],
            Self::Both => &["git", "github"],
        }
    }
}

/// A day of two daemons and a person.
struct Day {
    rig: Rig,
    driver: Driver,
    clock: Arc<SetClock>,
    route: Route,
    /// Counts comments, and decides which of them are reported before the host knows their ids.
    n_written: u64,
    /// The daemon that made what an event reports; a person's events are not here.
    makers: BTreeMap<EventId, DaemonId>,
}

impl Day {
    async fn new(route: Route) -> Self {
        let clock = Arc::new(SetClock(Mutex::new(clock::now())));
        let condition = match route {
            Route::Git => "when a branch is created",
            Route::Webhook => "when a comment is created on a pull request",
            Route::Both => "when a branch is created or a comment is created on a pull request",
        };
        let daemons = [("ping", condition), ("pong", condition)];
        let rig = Rig::with_clock(&daemons, Vec::new(), Arc::clone(&clock) as Arc<dyn Clock>);
        // The daemons are in the store, too, or nothing could be claimed.
        let registry = rig.host.registry().get();
        let rows = daemons.map(|(id, _)| {
            let key = DaemonKey {
                repo: "o/r".parse().unwrap(),
                id: id.parse().unwrap(),
            };
            registry.find_key(&key).unwrap().row.clone()
        });
        let registration = Registration {
            repo: "o/r".parse().unwrap(),
            commit: "c1".to_owned(),
            daemons: rows.into(),
            now: clock.now(),
            since: None,
        };
        rig.store.register(registration).await.unwrap();
        Self {
            driver: Driver::new(&rig.host, &[Concern::Matching]),
            rig,
            clock,
            route,
            n_written: 0,
            makers: BTreeMap::new(),
        }
    }

    /// Lets a person act once an hour in the first half of the day.
    async fn pass(&mut self) {
        let begin = self.clock.now();
        for minute in 0..24 * 60 {
            *self.clock.0.lock().unwrap() = begin + SignedDuration::from_mins(minute);
            if minute % 60 == 0 && minute < 12 * 60 {
                self.person().await;
            }
            match_waiting(&mut self.driver).await.unwrap();
            for activation in self.claim().await {
                self.run(&activation).await;
            }
        }
    }

    async fn person(&mut self) {
        self.n_written += 1;
        let n = self.n_written;
        if self.route == Route::Webhook {
            self.comment(n, "ann", "Well?").await;
        } else {
            self.branch(&format!("topic-{n}"), &commit(n), Source::Git)
                .await;
        }
    }

    /// Claims everything that is ready. No rate limits it, since chains have to end without one.
    async fn claim(&self) -> Vec<Activation> {
        let now = self.clock.now();
        let request = ClaimRequest {
            owner: HostEpoch(1),
            now,
            lease_until: now + SignedDuration::from_mins(1),
            host_slots: 100,
            daemon_slots: 100,
            rates: Rates::default(),
            day_usd: None,
        };
        let mut claimed = Vec::new();
        while let Some(activation) = self.rig.store.claim(&request).await.unwrap() {
            claimed.push(activation);
        }
        claimed
    }

    /// Ends a run with its outputs, and delivers them; the services report each.
    async fn run(&mut self, activation: &Activation) {
        assert!(
            self.n_written < 10_000,
            "{:?}: the chains do not end",
            self.route
        );
        let now = self.clock.now();
        let mut end = AttemptEnd::new(AttemptOutcome::Done, now, 0);
        for (ordinal, surface) in (0..).zip(self.route.surfaces()) {
            self.n_written += 1;
            end.outputs
                .push(output(activation, ordinal, surface, self.n_written));
        }
        let (id, lease) = (&activation.id, activation.run_lease);
        self.rig.store.end_attempt(id, lease, end).await.unwrap();
        for output in self.rig.store.outputs_of(id).await.unwrap() {
            self.rig.store.begin_send(&output.key).await.unwrap();
            // The report overtakes the confirmation of every second output.
            self.n_written += 1;
            let (n, is_first) = (self.n_written, self.n_written.is_multiple_of(2));
            if is_first {
                self.report(&output, n).await;
                match_waiting(&mut self.driver).await.unwrap();
            }
            self.confirm(&output, n).await;
            if !is_first {
                self.report(&output, n).await;
            }
        }
    }

    async fn confirm(&self, output: &Output, n: u64) {
        let id = match output.surface.as_str() {
            "git" => output.target.clone(),
            _ => format!("comment:{n}"),
        };
        let settlement = Settlement {
            state: OutputState::Confirmed,
            remote: Some(RemoteId {
                id,
                url: None,
                revision: None,
            }),
            error: None,
            not_before: None,
            at: self.clock.now(),
        };
        self.rig
            .store
            .settle(&output.key, settlement)
            .await
            .unwrap();
    }

    async fn report(&mut self, output: &Output, n: u64) {
        let reported = if output.surface == "git" {
            let branch = output.target.strip_prefix("refs/heads/").unwrap();
            let revision = output.revision.as_deref().unwrap();
            let created = self.branch(branch, revision, Source::Git).await;
            if self.route == Route::Both {
                self.branch(branch, revision, Source::Github).await;
            }
            created
        } else {
            let body = format!(
                "Well! <!-- daemon:{} act:{} out:{} -->",
                output.daemon.id, output.activation, output.key
            );
            self.comment(n, "helper-bot", &body).await
        };
        self.makers.insert(reported, output.daemon.id.clone());
    }

    async fn branch(&self, branch: &str, commit: &str, source: Source) -> EventId {
        let name = match source {
            Source::Git => format!("refs/heads/{branch}"),
            _ => branch.to_owned(),
        };
        let body = json!({
            "ref": name, "ref_type": "branch", "before": "0".repeat(40), "after": commit, "master_branch": "main",
            "repository": {"full_name": "o/r", "default_branch": "main"}, "sender": {"login": "kit"},
        });
        report(&self.rig, (source, "create"), &body).await[0]
            .id
            .clone()
    }

    async fn comment(&self, n: u64, login: &str, body: &str) -> EventId {
        let user = json!({"login": login, "id": login.len(), "type": "User"});
        let body = json!({
            "action": "created",
            "issue": {"number": 2, "title": "A title", "state": "open", "user": user, "labels": [], "pull_request": {"url": "https://api.github.com/repos/o/r/pulls/2"}},
            "comment": {"id": n, "body": body, "user": user},
            "repository": {"full_name": "o/r", "default_branch": "main"}, "sender": user,
        });
        report(&self.rig, (Source::Github, "issue_comment"), &body).await[0]
            .id
            .clone()
    }

    async fn activations(&self) -> Vec<Activation> {
        let mut query = Query {
            limit: 100,
            ..Query::default()
        };
        let mut all = Vec::new();
        loop {
            let page = self.rig.store.activations(&query).await.unwrap();
            all.extend(page.rows);
            match page.next {
                Some(next) => query.after = Some(next),
                None => return all,
            }
        }
    }
}

fn commit(n: u64) -> String {
    format!("{n:040x}")
}

fn output(activation: &Activation, ordinal: u32, surface: &str, n: u64) -> NewOutput {
    let (target, revision) = match surface {
        "git" => (
            format!(
                "refs/heads/daemon/{}/{}",
                activation.daemon.id, activation.id
            ),
            Some(commit(n)),
        ),
        _ => ("github:o/r#2".to_owned(), None),
    };
    NewOutput {
        key: OutputKey::derive(&activation.id, ordinal, surface, &target),
        ordinal,
        surface: surface.to_owned(),
        target,
        content: "{}".to_owned(),
        revision,
        state: OutputState::Planned,
        error: None,
    }
}

#[tokio::test]
async fn two_daemons_that_answer_each_other_for_a_day_stop_within_the_limits_of_chains() {
    for route in [Route::Git, Route::Webhook, Route::Both] {
        let mut day = Day::new(route).await;
        let noon = day.clock.now() + SignedDuration::from_hours(12);
        day.pass().await;
        let activations = day.activations().await;
        let mut of_root: BTreeMap<_, usize> = BTreeMap::new();
        for one in &activations {
            for trigger in &one.triggers {
                if let TriggerKey::Event(event) = &trigger.key {
                    assert_ne!(
                        day.makers.get(event),
                        Some(&one.daemon.id),
                        "{route:?}: {one:?}"
                    );
                }
            }
            let reason = one.reason.as_deref().unwrap_or_default();
            match one.state {
                ActivationState::Succeeded => {
                    *of_root.entry(one.chain.root.clone()).or_default() += 1;
                    assert!(one.chain.depth <= 3, "{route:?}: {one:?}");
                }
                ActivationState::Cancelled => assert!(reason.starts_with("chain: "), "{one:?}"),
                state => panic!("{route:?}: {state} at the end: {one:?}"),
            }
            assert!(
                one.created_at < noon,
                "{route:?}: it is quiet in the afternoon: {one:?}"
            );
        }
        assert_eq!(
            of_root.len(),
            2 * 12,
            "{route:?}: each wakes for each act of the person"
        );
        let sizes: Vec<usize> = of_root.into_values().collect();
        let is_bounded = sizes.iter().all(|n| (4..=10).contains(n));
        assert!(is_bounded, "{route:?}: {sizes:?}");
    }
}
