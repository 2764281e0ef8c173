//! The outbox of a host around one output: the engine's steps, with crashes between them.

use std::sync::{Arc, Mutex};

use daemon_engine::proposal::{Act, Proposal};
use daemon_engine::{
    ActivationState, DeliveryStep, NewOutput, Output, Surface, after_look_up, after_send, step,
};
use daemon_event::{ActivationId, DaemonKey};
use daemon_surface::{ActPlan, WallClock, plan_act};
use jiff::Timestamp;

/// The clock of a host, which its outbox sets.
#[derive(Clone)]
pub(super) struct HostClock(Arc<Mutex<Timestamp>>);

impl HostClock {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(start())))
    }

    pub(super) fn wall(&self) -> WallClock {
        let now = Arc::clone(&self.0);
        WallClock::new(move || *now.lock().unwrap())
    }

    pub(super) fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap() = now;
    }
}

/// The steps after which an output counts as one that never settles.
const MAX_STEPS: usize = 60;

/// Where a host is killed while it sends, at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kill {
    Never,
    /// After the row is `sending`, before a request.
    BeforeSend,
    /// After the send, before its result is stored.
    AfterSend,
}

pub(super) const KILLS: [Kill; 3] = [Kill::Never, Kill::BeforeSend, Kill::AfterSend];

/// What a test plans.
#[derive(Clone, Copy, Default)]
pub(super) struct Planned<'a> {
    pub(super) head: Option<&'a str>,
    pub(super) edits: Option<&'a str>,
}

pub(super) fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

pub(super) fn daemon() -> DaemonKey {
    DaemonKey {
        repo: "o/r".parse().unwrap(),
        id: "librarian".parse().unwrap(),
    }
}

pub(super) fn act(line: &str) -> Act {
    match Proposal::parse(line) {
        Ok(Proposal::Act(act)) => act,
        other => panic!("{line}: {other:?}"),
    }
}

/// Plans the output of one line, as activation `n` does.
pub(super) fn planned(n: u8, line: &str, more: Planned<'_>) -> Output {
    let (daemon, activation) = (daemon(), ActivationId::new(0, [n; 10]));
    let plan = ActPlan {
        daemon: &daemon,
        activation: &activation,
        ordinal: 0,
        head: more.head,
        edits: more.edits,
        may_mention: &|name| name == "octocat",
        is_secret: &|text| text.contains("hook-secret"),
    };
    row(plan_act(&act(line), &plan), activation)
}

fn row(new: NewOutput, activation: ActivationId) -> Output {
    Output {
        key: new.key,
        activation,
        daemon: daemon(),
        ordinal: new.ordinal,
        surface: new.surface,
        target: new.target,
        content: new.content,
        revision: new.revision,
        state: new.state,
        remote_id: None,
        url: None,
        attempts: 0,
        not_before: start(),
        created_at: start(),
        delivered_at: None,
        in_doubt_since: None,
        error: new.error,
    }
}

/// Delivers an output until it is settled; each step is taken at the time that the step before asked for.
pub(super) async fn settled(
    surface: &dyn Surface,
    mut output: Output,
    kill: Kill,
    clock: &HostClock,
) -> Output {
    let mut left = kill;
    for _ in 0..MAX_STEPS {
        let now = output.not_before;
        clock.set(now);
        let settlement = match step(output.state) {
            DeliveryStep::Rest => return output,
            DeliveryStep::LookUp => {
                let found = surface.find(&output).await;
                after_look_up(&output, found, now, u32::MAX)
            }
            DeliveryStep::Send => {
                output.begin_send();
                let kill = std::mem::replace(&mut left, Kill::Never);
                if kill == Kill::AfterSend {
                    // A killed host loses the result, good or bad.
                    drop(surface.deliver(&output).await);
                }
                if kill != Kill::Never {
                    output.interrupt(now);
                    continue;
                }
                let sent = surface.deliver(&output).await;
                after_send(&output, sent, now, u32::MAX)
            }
        };
        output.settle(settlement, ActivationState::Delivering);
    }
    panic!("it does not settle: {output:?}");
}
