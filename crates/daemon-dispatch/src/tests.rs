//! What the dispatcher decides, event by event.

mod leases;
mod outputs;

use std::time::Duration;

use daemon_engine::{
    Activation, HostEpoch, Joining, NewTrigger, Output, OutputState, RunLease, Trigger,
};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use jiff::{SignedDuration, Timestamp};

use super::{
    ClaimLimits, Concern, DiskSpace, Dispatcher, HostEffect, HostEvent, MatchedBatch, Now,
    Retentions, Settings,
};

/// A dispatcher with a clock that the test sets, and what it last decided.
struct Rig {
    dispatcher: Dispatcher,
    now: Now,
    decided: Vec<HostEffect>,
}

impl Rig {
    fn new(concerns: &[Concern]) -> Self {
        let now = Now {
            wall: Timestamp::from_second(1_000_000).expect("an instant"),
            since_boot: Duration::from_secs(1_000),
        };
        let settings = Settings {
            limits: ClaimLimits {
                host_slots: 2,
                daemon_slots: 1,
                ..ClaimLimits::default()
            },
            drain: Duration::from_secs(25),
            kept: Retentions {
                payloads: Some(SignedDuration::from_hours(24)),
                ..Retentions::default()
            },
            surfaces: ["git", "github", "slack"].map(str::to_owned).into(),
            ..Settings::new(HostEpoch(7))
        };
        Self {
            dispatcher: Dispatcher::new(settings, concerns, now),
            now,
            decided: Vec::new(),
        }
    }

    /// Hands over an event and compares the names of the effects.
    fn check(&mut self, event: HostEvent, expected: &[&str]) {
        self.decided.clear();
        let asked = format!("{event:?}");
        self.dispatcher.handle(event, self.now, &mut self.decided);
        let names: Vec<String> = self.decided.iter().map(name).collect();
        assert_eq!(names, expected, "{asked}");
    }

    fn pass(&mut self, wait: Duration) {
        self.now.since_boot += wait;
        self.now.wall += wait;
    }

    /// Returns how long nothing is due.
    fn wait(&self) -> Option<Duration> {
        let deadline = self.dispatcher.next_deadline()?;
        Some(deadline.saturating_sub(self.now.since_boot))
    }
}

fn name(effect: &HostEffect) -> String {
    let text = format!("{effect:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

fn id(n: u64) -> ActivationId {
    ActivationId::new(n, [0; 10])
}

fn activation(n: u64, lease: u64) -> Activation {
    let mut activation = Activation::pending(NewTrigger {
        daemon: DaemonKey {
            repo: "o/r".parse().expect("a name"),
            id: "ant".parse().expect("an id"),
        },
        rev: "1".to_owned(),
        subject: None,
        trigger: Trigger {
            key: TriggerKey::Person("p".into()),
            conditions: Vec::new(),
            by: None,
            occasion: None,
            recorded_at: Timestamp::UNIX_EPOCH,
        },
        activation_id: id(n),
        not_before: Timestamp::UNIX_EPOCH,
        joining: Joining::Coalesce,
        link: None,
    });
    activation.run_lease = RunLease(lease);
    activation
}

fn claimed(n: u64, lease: u64) -> HostEvent {
    HostEvent::Claimed(Some(Box::new(activation(n, lease))))
}

fn seconds(n: u64) -> Option<Duration> {
    Some(Duration::from_secs(n))
}

#[test]
fn slots_are_filled_one_claim_after_another() {
    let mut rig = Rig::new(&[Concern::Claims]);
    rig.check(HostEvent::Time, &["ReadDisk"]);
    rig.check(
        HostEvent::SpaceRead(DiskSpace::Enough),
        &["Reserve", "Claim"],
    );
    rig.check(claimed(1, 1), &["Execute", "Claim"]);
    rig.check(claimed(2, 1), &["Execute", "FindNextClaim"]);
    rig.check(HostEvent::NextClaim(None), &[]);
    assert_eq!(rig.wait(), seconds(15));
    rig.check(HostEvent::AttemptEnded(id(1), RunLease(1)), &["Claim"]);
    rig.check(HostEvent::Claimed(None), &["FindNextClaim"]);
    let next = rig.now.wall + SignedDuration::from_secs(3);
    rig.check(HostEvent::NextClaim(Some(next)), &[]);
    assert_eq!(rig.wait(), seconds(3));
}

#[test]
fn a_nudge_during_a_claim_leads_to_another_one() {
    let mut rig = Rig::new(&[Concern::Claims]);
    rig.check(
        HostEvent::SpaceRead(DiskSpace::Enough),
        &["Reserve", "Claim"],
    );
    rig.check(HostEvent::Nudged(Concern::Claims), &[]);
    rig.check(HostEvent::Claimed(None), &["FindNextClaim"]);
    rig.check(HostEvent::NextClaim(None), &["Claim"]);
    rig.check(HostEvent::StoreFailed(Concern::Claims), &[]);
    assert_eq!(rig.wait(), seconds(1));
}

#[test]
fn nothing_starts_while_the_disk_has_too_little_room() {
    for space in [
        DiskSpace::Low,
        DiskSpace::Full,
        DiskSpace::ReadOnly,
        DiskSpace::Unknown,
    ] {
        let mut rig = Rig::new(&[Concern::Claims]);
        rig.check(HostEvent::Time, &["ReadDisk"]);
        rig.check(HostEvent::SpaceRead(space), &["Reserve", "SpaceChanged"]);
        assert_eq!(rig.wait(), seconds(2));
        rig.pass(Duration::from_secs(2));
        rig.check(HostEvent::Time, &["ReadDisk"]);
        rig.check(
            HostEvent::SpaceRead(DiskSpace::Enough),
            &["Reserve", "SpaceChanged", "Claim"],
        );
    }
}

#[test]
fn a_claim_relies_on_no_old_reading_of_the_disk() {
    let mut rig = Rig::new(&[Concern::Claims, Concern::Disk]);
    rig.check(HostEvent::Time, &["ReadDisk"]);
    rig.check(
        HostEvent::SpaceRead(DiskSpace::Enough),
        &["Reserve", "Claim"],
    );
    rig.pass(Duration::from_secs(1));
    rig.check(claimed(1, 1), &["Execute", "ReadDisk"]);
    rig.check(
        HostEvent::SpaceRead(DiskSpace::Full),
        &["Reserve", "SpaceChanged"],
    );
}

#[test]
fn claims_pause_after_a_crash_loop() {
    let mut rig = Rig::new(&[Concern::Claims]);
    rig.dispatcher.pause_claims(Duration::from_secs(1_060));
    rig.check(HostEvent::Time, &[]);
    assert_eq!(rig.wait(), seconds(60));
    rig.pass(Duration::from_secs(60));
    rig.check(HostEvent::Time, &["ReadDisk"]);
}

/// A batch of ten events.
fn batch(view: u64, last: Option<u64>, n_matched: u64) -> HostEvent {
    HostEvent::Matched(
        MatchedBatch {
            view,
            last,
            n_read: last.map_or(0, |_| 10),
            n_matched,
            n_admitted: 0,
        },
        None,
    )
}

#[test]
fn events_of_unread_repositories_are_passed_over_until_the_view_changes() {
    let mut rig = Rig::new(&[Concern::Matching]);
    let after = |rig: &Rig| match rig.decided[..] {
        [HostEffect::Match { after, view, .. }] => (after, view),
        _ => panic!("{:?}", rig.decided),
    };
    rig.check(HostEvent::Time, &["Match"]);
    rig.check(batch(0, Some(10), 10), &["Match"]);
    assert_eq!(after(&rig), (0, 0), "what was matched is not read again");
    rig.check(batch(0, Some(20), 7), &["Match"]);
    assert_eq!(after(&rig), (20, 0));
    rig.check(batch(0, None, 0), &["NoteBacklog"]);
    assert!(matches!(rig.decided[..], [HostEffect::NoteBacklog(3)]));
    assert_eq!(rig.wait(), seconds(5));
    rig.check(HostEvent::Nudged(Concern::Matching), &["Match"]);
    assert_eq!(after(&rig), (20, 0));
    rig.check(batch(1, Some(13), 10), &["Match"]);
    assert_eq!(after(&rig), (0, 1), "another view makes all of them due");
    rig.check(HostEvent::StoreFailed(Concern::Matching), &[]);
    assert_eq!(rig.wait(), seconds(5));
}

/// A rig whose claims rest.
fn resting() -> Rig {
    let mut rig = Rig::new(&[Concern::Claims, Concern::Matching]);
    rig.check(HostEvent::Time, &["ReadDisk", "Match"]);
    assert!(!rig.matching_claims(), "a claim is due");
    rig.check(
        HostEvent::SpaceRead(DiskSpace::Enough),
        &["Reserve", "Claim"],
    );
    rig.check(HostEvent::Claimed(None), &["FindNextClaim"]);
    rig.check(HostEvent::NextClaim(None), &[]);
    rig.check(batch(0, None, 0), &["NoteBacklog"]);
    rig.pass(Duration::from_secs(1));
    rig
}

impl Rig {
    /// Reports whether the match that was decided claims too.
    fn matching_claims(&self) -> bool {
        let claims =
            |effect: &HostEffect| matches!(effect, HostEffect::Match { claim: Some(_), .. });
        self.decided.iter().any(claims)
    }

    /// Begins a match that claims.
    fn lend(&mut self) {
        self.check(HostEvent::Nudged(Concern::Matching), &["ReadDisk"]);
        self.check(
            HostEvent::SpaceRead(DiskSpace::Enough),
            &["Reserve", "Match"],
        );
        assert!(self.matching_claims());
    }
}

#[test]
fn matching_claims_in_its_transaction_while_claims_rest() {
    let mut rig = resting();
    rig.lend();
    let HostEvent::Claimed(activation) = claimed(1, 4) else {
        panic!("it is a claim");
    };
    let HostEvent::Matched(one, _) = batch(0, Some(10), 10) else {
        panic!("it is a batch");
    };
    let admitted = MatchedBatch {
        n_admitted: 2,
        ..one
    };
    rig.check(
        HostEvent::Matched(admitted, activation),
        &["Execute", "Claim", "Match"],
    );
    assert!(
        !rig.matching_claims(),
        "the claim of the other is under way"
    );
}

#[test]
fn a_match_that_wakes_nothing_leaves_claims_at_rest() {
    let mut rig = resting();
    rig.lend();
    rig.check(batch(0, None, 0), &["NoteBacklog"]);
    assert_eq!(
        rig.wait(),
        seconds(5),
        "the claims rest for 14 seconds more"
    );
    // Something else became ready meanwhile.
    rig.pass(Duration::from_secs(1));
    rig.lend();
    rig.check(HostEvent::Nudged(Concern::Claims), &[]);
    rig.check(batch(0, None, 0), &["NoteBacklog", "Claim"]);
}

#[test]
fn a_match_that_fails_ends_its_claim() {
    let mut rig = resting();
    rig.lend();
    rig.check(HostEvent::StoreFailed(Concern::Matching), &[]);
    assert_eq!(rig.wait(), seconds(1));
    rig.pass(Duration::from_secs(1));
    rig.check(HostEvent::Time, &["ReadDisk"]);
}

#[test]
fn matching_claims_nothing_without_room_or_slots() {
    let mut rig = resting();
    rig.check(HostEvent::Nudged(Concern::Matching), &["ReadDisk"]);
    rig.check(
        HostEvent::SpaceRead(DiskSpace::Low),
        &["Reserve", "SpaceChanged", "Match"],
    );
    assert!(!rig.matching_claims());
}

#[test]
fn a_sweep_takes_back_before_it_expires_and_seldom_forgets() {
    let mut rig = Rig::new(&[Concern::Sweeps]);
    let mut forgot = Vec::new();
    for sweep in 0..242 {
        rig.check(HostEvent::Time, &[]);
        rig.pass(Duration::from_secs(15));
        rig.check(HostEvent::Time, &["TakeBack"]);
        rig.check(HostEvent::TakenBack(0), &["ClearStrays"]);
        rig.check(HostEvent::StraysCleared, &["Expire"]);
        let mut effects = Vec::new();
        rig.dispatcher
            .handle(HostEvent::Expired, rig.now, &mut effects);
        if let [
            HostEffect::Forget {
                payloads, ticks, ..
            },
        ] = effects[..]
        {
            let day = SignedDuration::from_hours(24);
            let kept = (rig.now.wall - day, Timestamp::UNIX_EPOCH);
            assert_eq!((payloads, ticks), kept);
            forgot.push(sweep);
            rig.check(HostEvent::Forgotten, &[]);
        }
    }
    assert_eq!(forgot, [0, 240]);
}

#[test]
fn a_host_that_stops_lets_runs_end_then_asks_then_leaves_them() {
    let mut rig = Rig::new(&Concern::ALL);
    rig.check(
        claimed(1, 1),
        &["Execute", "ReadDisk", "Match", "FindDueOutputs"],
    );
    rig.check(HostEvent::StopRequested, &[]);
    rig.check(HostEvent::SpaceRead(DiskSpace::Enough), &["Reserve"]);
    rig.check(HostEvent::Nudged(Concern::Claims), &[]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["Renew"]);
    rig.check(HostEvent::Renewed { lost: Vec::new() }, &[]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["StopRuns", "Renew"]);
    assert_eq!(rig.wait(), seconds(10));
    assert!(!rig.dispatcher.is_finished());
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["AbandonRuns"]);
    assert!(rig.dispatcher.is_finished());
}

#[test]
fn a_claim_that_is_under_way_at_the_stop_is_waited_for() {
    let mut rig = Rig::new(&[Concern::Claims]);
    rig.check(
        HostEvent::SpaceRead(DiskSpace::Enough),
        &["Reserve", "Claim"],
    );
    rig.check(HostEvent::StopRequested, &[]);
    assert!(!rig.dispatcher.is_finished());
    rig.check(claimed(1, 1), &["Execute"]);
    assert!(!rig.dispatcher.is_finished());
    rig.check(HostEvent::AttemptEnded(id(1), RunLease(1)), &[]);
    assert!(rig.dispatcher.is_finished());
}

#[test]
fn a_broken_store_ends_the_host() {
    for concern in Concern::ALL {
        let mut rig = Rig::new(&[]);
        rig.check(HostEvent::StoreBroken(concern), &["GiveUp"]);
    }
}

#[test]
fn a_concern_rests_after_its_effect_panicked() {
    let mut rig = Rig::new(&[Concern::Matching]);
    rig.check(HostEvent::Time, &["Match"]);
    rig.check(HostEvent::Panicked(Concern::Matching), &[]);
    assert_eq!(rig.wait(), seconds(1));
}

/// Makes an output of the first activation.
fn output(state: OutputState) -> Output {
    let activation = activation(1, 1);
    let mut output = Output::new(
        daemon_engine::NewOutput {
            key: daemon_engine::OutputKey::derive(&activation.id, 0, "git", "refs/heads/x"),
            ordinal: 0,
            surface: "git".to_owned(),
            target: "refs/heads/x".to_owned(),
            content: "{}".to_owned(),
            revision: None,
            state: OutputState::Planned,
            error: None,
        },
        &activation,
        Timestamp::from_second(999_990).expect("an instant"),
    );
    output.state = state;
    output
}
