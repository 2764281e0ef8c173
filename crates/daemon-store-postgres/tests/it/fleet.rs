//! What hosts know of each other, and what they take over from one that is gone.

use daemon_engine::{Activation, AttemptEnd, NewOutput, OutputKey, OutputState, Settlement};
use daemon_store::{Activations as _, Hosting as _, Outbox as _, StoreError};
use daemon_store_postgres::PostgresStore;

use crate::hosts::{asked, at, claim, done, end_leases, host, register, run};
use crate::server::{runtime, server, with_client};

#[test]
fn what_a_host_was_sending_when_it_died_is_looked_up_by_another_and_its_late_answer_refused() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (gone, first) = host(&address, "gone").await;
        let (other, _) = host(&address, "other").await;
        register(&gone, &["a"]).await;
        gone.enqueue(asked("a", 1)).await.unwrap();
        let held = gone.claim(&claim(first, 60)).await.unwrap().unwrap();
        let (output, end) = delivering(&held);
        gone.end_attempt(&held.id, held.run_lease, end)
            .await
            .unwrap();
        gone.begin_send(&output).await.unwrap();
        let state =
            async |store: &PostgresStore| store.outputs_of(&held.id).await.unwrap().remove(0).state;
        // Both are at work.
        assert_eq!(gone.check_in("{}", at(3)).await.unwrap(), 0);
        assert_eq!(other.check_in("{}", at(3)).await.unwrap(), 0);
        assert_eq!(state(&other).await, OutputState::Sending);
        with_client(&address, async |client| {
            let gone = "UPDATE host SET seen_at = seen_at - 60000000 WHERE name = 'gone'";
            client.batch_execute(gone).await.unwrap();
        })
        .await;
        assert_eq!(other.check_in("{}", at(4)).await.unwrap(), 1);
        assert_eq!(other.check_in("{}", at(4)).await.unwrap(), 0);
        let due = other.due_outputs(at(4), 9).await.unwrap();
        assert_eq!((due.len(), due[0].state), (1, OutputState::Ambiguous));
        // The surface does not have it, so that it is sent again.
        other
            .settle(&output, settled(OutputState::Planned))
            .await
            .unwrap();
        other.begin_send(&output).await.unwrap();
        let late = gone.settle(&output, settled(OutputState::Planned)).await;
        assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
        assert_eq!(state(&gone).await, OutputState::Sending);
        other
            .settle(&output, settled(OutputState::Confirmed))
            .await
            .unwrap();
        assert_eq!(state(&gone).await, OutputState::Confirmed);
    });
}

/// Returns the end of an attempt with one output, and the key of it.
pub(crate) fn delivering(held: &Activation) -> (OutputKey, AttemptEnd) {
    let key = OutputKey::derive(&held.id, 0, "git", "refs/heads/daemon/a");
    let output = NewOutput {
        key: key.clone(),
        ordinal: 0,
        surface: "git".to_owned(),
        target: "refs/heads/daemon/a".to_owned(),
        content: "{}".to_owned(),
        revision: None,
        state: OutputState::Planned,
        error: None,
    };
    let end = AttemptEnd {
        outputs: vec![output],
        ..done()
    };
    (key, end)
}

fn settled(state: OutputState) -> Settlement {
    Settlement {
        state,
        at: at(5),
        remote: None,
        error: None,
        not_before: None,
    }
}

#[test]
fn a_host_knows_which_other_host_has_a_run_and_whether_it_is_gone() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (one, epoch) = host(&address, "one").await;
        let (two, _) = host(&address, "two").await;
        register(&one, &["a"]).await;
        one.enqueue(asked("a", 1)).await.unwrap();
        let held = one.claim(&claim(epoch, 60)).await.unwrap().unwrap();
        let begun = one.start_run(&held.id, held.run_lease, run(&held), at(1));
        begun.await.unwrap();
        let other = async |store: &PostgresStore, run: &str| {
            let other = store.run_elsewhere(run).await.unwrap();
            other.map(|host| (host.name, host.is_present))
        };
        assert_eq!(other(&one, "r-1").await, None);
        assert_eq!(other(&two, "r-2").await, None);
        // It has never checked in.
        assert_eq!(other(&two, "r-1").await, Some(("one".to_owned(), false)));
        one.check_in("{}", at(3)).await.unwrap();
        assert_eq!(other(&two, "r-1").await, Some(("one".to_owned(), true)));
        with_client(&address, async |client| {
            let gone = "UPDATE host SET seen_at = seen_at - 60000000";
            client.batch_execute(gone).await.unwrap();
        })
        .await;
        assert_eq!(other(&two, "r-1").await, Some(("one".to_owned(), false)));
    });
}

#[test]
fn a_host_knows_the_others_their_clocks_and_what_waits() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (one, epoch) = host(&address, "one").await;
        let (_older, _) = host(&address, "older").await;
        register(&one, &["a"]).await;
        one.enqueue(asked("a", 1)).await.unwrap();
        one.claim(&claim(epoch, 60)).await.unwrap().unwrap();
        one.check_in("{\"version\":\"1\"}", at(3)).await.unwrap();
        let fleet = one.fleet().await.unwrap().unwrap();
        let shown: Vec<_> = fleet
            .hosts
            .iter()
            .map(|host| {
                (
                    &*host.name,
                    host.n_leased,
                    host.about.as_deref(),
                    host.is_present(fleet.now),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("older", 0, None, false),
                ("one", 1, Some("{\"version\":\"1\"}"), true)
            ]
        );
        let (seen, ahead) = (fleet.hosts[1].seen_at, fleet.hosts[1].clock_ahead);
        assert_eq!(seen.unwrap() + ahead.unwrap(), at(3));
        assert_eq!((fleet.oldest_ready, fleet.stuck.len()), (None, 0));
        one.enqueue(asked("a", 2)).await.unwrap();
        end_leases(&address).await;
        let fleet = one.fleet().await.unwrap().unwrap();
        assert_eq!(fleet.stuck.len(), 1);
        assert_eq!(fleet.stuck[0].host.as_deref(), Some("one"));
    });
}
