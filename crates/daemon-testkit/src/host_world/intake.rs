//! Senders: each repeats an event until it is acknowledged, or gives up.

use daemon_dispatch::{Concern, HostEvent, SenderReply, reply_to_sender};
use daemon_event::{DeliveryId, Event, EventFacts, EventId, Source};
use daemon_store::{Identity, Matching, NewEvent};

use super::effects::StoreFate;
use super::{HostCanary, HostHappening, HostWorld, MINUTE, SECOND};

/// How long a sender waits for its answer; the host answers before.
const COMMIT_TIME: u64 = 2 * SECOND;
/// What a store answers that has stored a delivery.
const STORED: Option<Result<(), ()>> = Some(Ok(()));
/// How often a sender tries.
const MAX_TRIES: u32 = 6;

/// One event on its way to the host.
#[derive(Clone, Debug)]
pub(super) struct SimulatedDelivery {
    event: Event,
    n_tries: u32,
    /// Whether the sender still waits for the answer to its last try.
    is_waiting: bool,
}

impl HostWorld {
    /// Makes new events and sends them: mostly one, now and then as many as a push of several branches has.
    pub(super) fn emit(&mut self) {
        if self.is_calm {
            return;
        }
        self.again(HostHappening::Emit);
        let n_events = match self.dice.below(15) {
            0 => self.between(5, 15),
            _ => 1,
        };
        for _ in 0..n_events {
            self.emit_one();
        }
    }

    fn emit_one(&mut self) {
        let number = self.tally.events;
        self.tally.events += 1;
        let now = self.now();
        let mut random = [0; 10];
        random[..8].copy_from_slice(&number.to_be_bytes());
        let subject = format!("github:o/r#{}", 1 + self.dice.below(6));
        let event = Event {
            id: EventId::new(number, random),
            source: Source::Github,
            kind: "issues".to_owned(),
            action: None,
            subject: Some(subject.parse().expect("a subject")),
            actor: None,
            repo: Some("o/r".parse().expect("a name")),
            time: now,
            received_at: now,
            delivery: format!("d{number}").parse::<DeliveryId>().expect("an id"),
            facts: EventFacts::default(),
            payload: b"{}".as_slice().into(),
        };
        let wakes = u8::try_from(self.dice.below(8)).expect("three bits");
        self.wakes.insert(event.id.clone(), wakes);
        self.deliveries.push(SimulatedDelivery {
            event,
            n_tries: 0,
            is_waiting: false,
        });
        self.deliver(self.deliveries.len() - 1);
    }

    /// Takes a delivery in, if a host is there to take it.
    pub(super) fn deliver(&mut self, place: usize) {
        let delivery = &mut self.deliveries[place];
        delivery.n_tries += 1;
        delivery.is_waiting = true;
        let n_tries = delivery.n_tries;
        let takes_events = self.host.as_ref().is_some_and(|host| !host.is_stopping);
        if !takes_events || self.is_disk_full {
            return self.reply(place, SenderReply::Slow);
        }
        if self.setup.canary == Some(HostCanary::AcknowledgeBeforeCommit) {
            self.reply(place, reply_to_sender(STORED));
        }
        let (wait, life) = (self.latency(), self.life);
        self.after(wait, HostHappening::Commit(life, place));
        self.after(COMMIT_TIME, HostHappening::Late(place, n_tries));
    }

    pub(super) fn commit(&mut self, life: u64, place: usize) {
        if life != self.life {
            // The host died before: the sender sees its connection break.
            return self.reply(place, SenderReply::Slow);
        }
        let fate = self.store_fate();
        self.note(&[5, fate as u64]);
        if matches!(fate, StoreFate::Works | StoreFate::IsInDoubt) {
            self.accept(place);
        }
        let wait = self.latency();
        let is_durable = fate == StoreFate::Works;
        self.after(wait, HostHappening::Committed(life, place, is_durable));
    }

    fn accept(&mut self, place: usize) {
        let event = self.deliveries[place].event.clone();
        let key = format!("id:github:{}", event.delivery);
        self.store.accept(vec![NewEvent {
            event,
            identities: vec![Identity { key, within: None }],
            happenings: Vec::new(),
            counterparts: Vec::new(),
            matching: Matching::Due,
        }]);
    }

    pub(super) fn committed(&mut self, life: u64, place: usize, is_durable: bool) {
        if life != self.life {
            return self.reply(place, SenderReply::Slow);
        }
        let stored = is_durable.then_some(()).ok_or(());
        self.reply(place, reply_to_sender(Some(stored)));
        if is_durable {
            self.handle(HostEvent::Nudged(Concern::Matching));
        }
    }

    pub(super) fn late(&mut self, place: usize, n_tries: u32) {
        if self.deliveries[place].n_tries == n_tries {
            self.reply(place, reply_to_sender(None));
        }
    }

    /// Answers a sender that still waits.
    fn reply(&mut self, place: usize, reply: SenderReply<(), ()>) {
        if !std::mem::take(&mut self.deliveries[place].is_waiting) {
            return;
        }
        match reply {
            SenderReply::Acknowledge(()) => {
                self.tally.acknowledged += 1;
                let id = self.deliveries[place].event.id.clone();
                self.oracle.acknowledged.insert(id);
            }
            SenderReply::Failed(()) | SenderReply::Slow => {
                // A sender that was never acknowledged may give up: its event is not demanded.
                if self.deliveries[place].n_tries < MAX_TRIES {
                    let wait = self.between(5 * SECOND, 5 * MINUTE);
                    self.after(wait, HostHappening::Deliver(place));
                }
            }
        }
    }
}
