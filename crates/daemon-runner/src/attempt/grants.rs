//! What a run may request from the host while it works: state, outputs, money and tools.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use async_trait::async_trait;
use daemon_engine::proposal::{Act, ProposalRules, output_schema};
use daemon_engine::{Proposal, StateChange, apply};
use daemon_provider::redact::Redactor;
use daemon_provider::{GrantError, GrantedTool, Grants, MicroUsd, Reservation, ToolReply, Verdict};
use serde_json::{Map, Value};

use crate::budget::RunBudget;
use crate::servers::RunServers;

/// The most proposals of a run, by its spool, its tools and its events together.
const MOST_PROPOSALS: usize = 200;
/// The characters of a refused proposal that are searched for secrets, before it is cut to [`SHOWN_CHARS`].
const KEPT_CHARS: usize = 8_192;
/// The characters of a refused proposal that are stored.
const SHOWN_CHARS: usize = 200;

/// The reason for the refusal of a proposal with a secret.
const HAS_SECRET: &str = "the proposal holds what looks like a secret: propose it again without";

/// The key at which a run reads the counters that the host keeps; it is no key of the state.
const COUNTERS: &str = "$counters";

/// The grants of one run.
#[derive(Debug)]
pub(super) struct RunGrants {
    rules: ProposalRules,
    budget: RunBudget,
    /// The JSON of the counters, as in `state.json`.
    counters: Value,
    state: Mutex<Pending>,
    /// Empty until the run has its id, which marks the processes of the servers.
    servers: OnceLock<RunServers>,
    /// Finds the secrets of the run; empty until its folder exists.
    redactor: OnceLock<Redactor>,
}

#[derive(Debug, Default)]
struct Pending {
    values: BTreeMap<String, String>,
    changes: Vec<StateChange>,
    acts: Vec<Act>,
    refused: Vec<(String, String)>,
    n_proposed: usize,
}

impl Pending {
    /// Adds changes; of several changes of one key only the last is kept.
    fn change(&mut self, changes: &[StateChange]) {
        for change in changes {
            self.changes.retain(|known| key(known) != key(change));
            self.changes.push(change.clone());
        }
    }
}

fn key(change: &StateChange) -> &str {
    match change {
        StateChange::Set { key, .. } | StateChange::Remove { key } => key,
    }
}

/// What a run proposed and changed.
#[derive(Debug, Default)]
pub(super) struct Granted {
    pub(super) changes: Vec<StateChange>,
    /// The admitted proposals that have an effect on a surface.
    pub(super) acts: Vec<Act>,
    /// The refused proposals, each with the reason.
    pub(super) refused: Vec<(String, String)>,
}

impl Granted {
    /// Removes secrets from state changes and refused proposals, and refuses changes of keys with a secret. A branch with a secret
    /// is refused by its planner.
    pub(super) fn without_secrets(mut self, redactor: &Redactor) -> Self {
        // Two keys may be the same without their secrets, so a key is not redacted.
        let n_changes = self.changes.len();
        self.changes
            .retain(|change| !redactor.finds_in(key(change)));
        for _ in self.changes.len()..n_changes {
            let reason = "the key of a change of the state holds what looks like a secret";
            self.refused.push((String::new(), reason.to_owned()));
        }
        for change in &mut self.changes {
            if let StateChange::Set { json, .. } = change
                && let Ok(value) = serde_json::from_str(json)
            {
                *json = redactor.json(&value).to_string();
            }
        }
        for (shown, reason) in &mut self.refused {
            *shown = redactor.cut(shown).chars().take(SHOWN_CHARS).collect();
            *reason = redactor.text(reason).into_owned();
        }
        self
    }
}

impl RunGrants {
    pub(super) fn new(
        values: BTreeMap<String, String>,
        rules: ProposalRules,
        budget: RunBudget,
    ) -> Self {
        Self {
            rules,
            budget,
            counters: Value::Null,
            state: Mutex::new(Pending {
                values,
                ..Pending::default()
            }),
            servers: OnceLock::new(),
            redactor: OnceLock::new(),
        }
    }

    /// Lets the run read these counters.
    pub(super) fn with_counters(self, counters: Value) -> Self {
        Self { counters, ..self }
    }

    /// Refuses proposals with a secret that the redactor finds, from before the run starts.
    pub(super) fn guard(&self, redactor: Redactor) {
        self.redactor.get_or_init(|| redactor);
    }

    /// Adds the servers that the run is granted, before it starts.
    pub(super) fn serve(&self, servers: RunServers) {
        self.servers.get_or_init(|| servers);
    }

    /// Closes the servers of the run, and waits for the end of their processes.
    pub(super) async fn close_servers(&self) {
        if let Some(servers) = self.servers.get() {
            servers.close().await;
        }
    }

    /// Validates a proposal, given as a line of JSON, and keeps it for the end of the run.
    pub(super) fn take(&self, line: &str) -> Verdict {
        let n_before = {
            let mut pending = self.pending();
            pending.n_proposed += 1;
            pending.n_proposed - 1
        };
        // Refused proposals count too, so that a loop of invalid ones ends as well.
        let verdict = match Proposal::parse(line) {
            _ if n_before >= MOST_PROPOSALS => {
                Verdict::Refused(format!("a run makes at most {MOST_PROPOSALS} proposals"))
            }
            Ok(proposal) => self.admit(proposal),
            Err(error) => Verdict::Refused(error.to_string()),
        };
        // Of those over the limit only the first is recorded: a run can make any number.
        if let Verdict::Refused(reason) = &verdict
            && n_before <= MOST_PROPOSALS
        {
            let shown = line.chars().take(KEPT_CHARS).collect();
            self.pending().refused.push((shown, reason.clone()));
        }
        verdict
    }

    /// Records that a part of the spool was not read, as a refused proposal without content.
    pub(super) fn refuse_unread(&self, problem: &str) {
        let reason = format!("the file of outputs: {problem}");
        self.pending().refused.push((String::new(), reason));
    }

    fn admit(&self, proposal: Proposal) -> Verdict {
        let mut pending = self.pending();
        match proposal {
            Proposal::Act(act) => match self.rules.admit(act, &pending.acts) {
                Ok(act) if self.finds_secret(&act.fields.texts()) => {
                    return Verdict::Refused(HAS_SECRET.to_owned());
                }
                Ok(act) => pending.acts.push(act),
                Err(refusal) => return Verdict::Refused(refusal.to_string()),
            },
            Proposal::State(changes) => {
                if let Err(error) = apply(&mut pending.values, &changes) {
                    return Verdict::Refused(error.to_string());
                }
                pending.change(&changes);
            }
            Proposal::NoOp { .. } => {}
        }
        Verdict::Accepted
    }

    fn finds_secret(&self, texts: &[&str]) -> bool {
        let redactor = self.redactor.get();
        redactor.is_some_and(|redactor| texts.iter().any(|text| redactor.finds_in(text)))
    }

    /// Returns what was proposed and changed.
    pub(super) fn taken(&self) -> Granted {
        let mut pending = self.pending();
        Granted {
            changes: std::mem::take(&mut pending.changes),
            acts: std::mem::take(&mut pending.acts),
            refused: std::mem::take(&mut pending.refused),
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.state.lock().expect("no holder panics")
    }
}

#[async_trait]
impl Grants for RunGrants {
    async fn state_get(&self, key: &str) -> Result<Option<Value>, GrantError> {
        if key == COUNTERS {
            return Ok(Some(self.counters.clone()));
        }
        let pending = self.pending();
        Ok(pending
            .values
            .get(key)
            .and_then(|json| serde_json::from_str(json).ok()))
    }

    async fn state_set(&self, key: &str, value: Value) -> Result<(), GrantError> {
        if key == COUNTERS {
            let reason = format!("`{COUNTERS}` is kept by the host");
            return Err(GrantError::Refused { reason });
        }
        if self.finds_secret(&[key]) {
            let reason = "the key holds what looks like a secret".to_owned();
            return Err(GrantError::Refused { reason });
        }
        let change = StateChange::Set {
            key: key.to_owned(),
            json: value.to_string(),
        };
        // Validated against the changes so far: limits on keys and size apply to the state after the run.
        let mut pending = self.pending();
        match apply(&mut pending.values, std::slice::from_ref(&change)) {
            Ok(()) => {
                pending.change(&[change]);
                Ok(())
            }
            Err(error) => Err(GrantError::Refused {
                reason: error.to_string(),
            }),
        }
    }

    fn output_schema(&self) -> Value {
        output_schema(|row| self.rules.serves(row))
    }

    async fn admits(&self, output: &Value) -> bool {
        match Proposal::parse(&output.to_string()) {
            Ok(Proposal::Act(act)) => self.rules.admit(act, &self.pending().acts).is_ok(),
            Ok(Proposal::State(_) | Proposal::NoOp { .. }) => true,
            Err(_) => false,
        }
    }

    async fn propose(&self, output: Value) -> Result<Verdict, GrantError> {
        Ok(self.take(&output.to_string()))
    }

    async fn reserve(&self, cost: MicroUsd) -> Result<Reservation, GrantError> {
        self.budget.reserve(cost)
    }

    async fn settle(&self, reservation: Reservation, cost: MicroUsd) -> Result<(), GrantError> {
        self.budget.settle(reservation, cost);
        Ok(())
    }

    async fn tools(&self) -> Vec<GrantedTool> {
        match self.servers.get() {
            Some(servers) => servers.tools().await,
            None => Vec::new(),
        }
    }

    async fn call_tool(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        match self.servers.get() {
            Some(servers) => servers.call_tool(name, arguments).await,
            None => ToolReply::failed("no server is granted to this run"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::RunGrants;
    use crate::budget::{DailyBudget, RunBudget};
    use crate::test_clock::TestClock;
    use daemon_engine::StateChange;
    use daemon_engine::proposal::{OutputCapability, ProposalRules, ServedSurfaces};
    use daemon_provider::redact::Redactor;
    use daemon_provider::{Grants as _, Verdict};
    use jiff::Timestamp;
    use serde_json::json;

    fn grants(capability: OutputCapability) -> RunGrants {
        let rules = ProposalRules {
            capability,
            repo: "o/r".parse().unwrap(),
            subjects: Vec::new(),
            commit: None,
            head: None,
            own: Vec::new(),
            configured: Vec::new(),
            surfaces: ServedSurfaces {
                names: ["git".to_owned()].into(),
                ..ServedSurfaces::default()
            },
        };
        let daily = Arc::new(DailyBudget::new(TestClock::at(Timestamp::UNIX_EPOCH)));
        let budget = RunBudget::new(None, daily, None);
        RunGrants::new([("seen".to_owned(), "1".to_owned())].into(), rules, budget)
    }

    fn refusal(capability: OutputCapability, lines: &[&str]) -> Vec<String> {
        let grants = grants(capability);
        let verdicts = lines.iter().map(|line| grants.take(line));
        verdicts
            .map(|verdict| match verdict {
                Verdict::Refused(reason) => reason,
                Verdict::Accepted => String::new(),
            })
            .collect()
    }

    #[test]
    fn a_reader_proposes_only_state_and_nothing() {
        let lines = [
            r#"{"v":1,"verb":"push_branch"}"#,
            r#"{"v":1,"verb":"state","set":{"a":1}}"#,
            r#"{"v":1,"verb":"no_op","reason":"clean"}"#,
        ];
        assert_eq!(
            refusal(OutputCapability::Read, &lines),
            [
                "`push_branch` needs the capability `propose`, this run has `read`",
                "",
                ""
            ]
        );
        assert_eq!(refusal(OutputCapability::Propose, &lines), ["", "", ""]);
    }

    #[test]
    fn what_is_not_served_is_refused_with_its_reason() {
        let lines = [
            r#"{"v":1,"verb":"label","target":"github:o/r#1","add":["x"]}"#,
            "{",
            r#"{"v":2,"verb":"state"}"#,
        ];
        let reasons = refusal(OutputCapability::Write, &lines);
        assert_eq!(
            reasons[0],
            "the surface `github` is not configured on this host"
        );
        assert!(reasons[1].starts_with("not a proposal: "), "{reasons:?}");
        assert_eq!(
            reasons[2],
            "version 2 of the proposal form is not served, 1 is"
        );
    }

    #[test]
    fn one_branch_is_pushed_per_activation() {
        let push = r#"{"v":1,"verb":"push_branch"}"#;
        assert_eq!(
            refusal(OutputCapability::Propose, &[push, push]),
            ["", "`push_branch` is accepted once per activation"]
        );
    }

    #[tokio::test]
    async fn a_proposal_with_a_secret_is_refused_at_once_and_can_be_made_again() {
        let grants = grants(OutputCapability::Propose);
        grants.guard(Redactor::of(["hunter2-hunter2".to_owned()]));
        let push =
            |message: &str| json!({"v": 1, "verb": "push_branch", "message": message}).to_string();
        for secret in ["hunter2-hunter2", "aHVudGVyMi1odW50ZXIy"] {
            let verdict = grants.take(&push(&format!("uses {secret} now")));
            let Verdict::Refused(reason) = verdict else {
                panic!("{secret} is accepted");
            };
            assert!(
                !reason.contains(secret) && reason.contains("secret"),
                "{reason}"
            );
            let kept = grants.state_set(secret, json!(1)).await;
            assert!(kept.is_err(), "{secret} becomes a key");
        }
        assert_eq!(grants.take(&push("uses a variable now")), Verdict::Accepted);
        assert_eq!(grants.taken().refused.len(), 2);
    }

    #[tokio::test]
    async fn what_would_be_accepted_is_known_before() {
        let grants = grants(OutputCapability::Propose);
        let push = json!({"v": 1, "verb": "push_branch"});
        let open = json!({"v": 1, "verb": "open_pull_request", "title": "A", "body": "B"});
        assert!(grants.admits(&push).await);
        assert!(!grants.admits(&open).await, "no surface has pull requests");
        assert!(!grants.admits(&json!({"v": 1})).await);
        assert_eq!(grants.take(&push.to_string()), Verdict::Accepted);
        assert!(!grants.admits(&push).await, "one branch is pushed");
        assert_eq!(grants.taken().refused, [], "nothing was proposed");
        let schema = grants.output_schema().to_string();
        assert!(
            schema.contains("push_branch") && !schema.contains("open_pull_request"),
            "{schema}"
        );
    }

    #[tokio::test]
    async fn a_run_reads_its_own_changes() {
        let grants = grants(OutputCapability::Propose);
        assert_eq!(grants.state_get("seen").await, Ok(Some(json!(1))));
        assert_eq!(grants.state_get("$counters").await, Ok(Some(json!(null))));
        assert!(grants.state_set("$counters", json!(0)).await.is_err());
        assert_eq!(grants.state_set("seen", json!(2)).await, Ok(()));
        assert_eq!(grants.state_get("seen").await, Ok(Some(json!(2))));
        assert_eq!(grants.taken().changes.len(), 1);
    }

    #[tokio::test]
    async fn a_key_of_the_state_with_a_secret_is_refused() {
        let grants = grants(OutputCapability::Propose);
        for key in ["hunter2-hunter2", "aHVudGVyMi1odW50ZXIy", "seen"] {
            assert_eq!(
                grants.state_set(key, json!("hunter2-hunter2")).await,
                Ok(())
            );
        }
        let redactor = Redactor::of(["hunter2-hunter2".to_owned()]);
        let granted = grants.taken().without_secrets(&redactor);
        let kept = StateChange::Set {
            key: "seen".to_owned(),
            json: "\"<redacted>\"".to_owned(),
        };
        assert_eq!(granted.changes, [kept]);
        let reason = "the key of a change of the state holds what looks like a secret";
        let refused = (String::new(), reason.to_owned());
        assert_eq!(granted.refused, [refused.clone(), refused]);
    }
}
