//! The search: ids by their beginning, and words in the newest rows.

use daemon_event::{Actor, ActorKind};

use super::scene::{
    activation_id, at, claimed, done, enqueue, event_id, new_event, planned, registered, run, woken,
};
use crate::search::{SearchFound, SearchQuery};
use crate::traits::Store;

async fn found(store: &dyn Store, text: &str) -> SearchFound {
    let query = SearchQuery::new(text, 2).expect("it has words");
    store.search(&query).await.expect("searches")
}

pub(super) async fn a_search_finds_ids_by_their_beginning_and_words_of_rows(store: &dyn Store) {
    registered(store, &["tidy"]).await;
    for n in 1..=3 {
        let mut new = new_event(n, &format!("id:{n}"));
        new.event.actor = (n == 2).then(|| Actor {
            name: "Ada".to_owned(),
            kind: ActorKind::Human,
        });
        store.accept(vec![new]).await.expect("accepts");
    }
    enqueue(store, woken("tidy", 7, at(7))).await;
    let activation = claimed(store, at(8)).await;
    let mut row = run("em-8-tidy", &activation, at(8));
    row.object = r#"{"result_preview": "Moved the wick"}"#.to_owned();
    let started = store.start_run(&activation.id, activation.run_lease, row, at(8));
    started.await.expect("starts");
    let mut end = done(at(9));
    end.outputs = vec![planned(&activation.id, 0)];
    let key = end.outputs[0].key.clone();
    let ended = store.end_attempt(&activation.id, activation.run_lease, end);
    ended.await.expect("ends");

    let nothing = SearchFound::default();
    let events = |ns: &[u64]| SearchFound {
        events: ns.iter().map(|n| event_id(*n)).collect(),
        ..SearchFound::default()
    };
    let id = event_id(2).to_string();
    for (text, expected) in [
        (id.as_str(), events(&[2])),
        (&id.to_lowercase(), events(&[2])),
        ("ada", events(&[2])),
        ("OPENED 语言", events(&[3, 2])),
        ("r#42", events(&[3, 2])),
        ("r#42 ada", events(&[2])),
        ("r#42 nobody", nothing.clone()),
        ("%", nothing.clone()),
        // A part of the stored facts that is neither a title nor another text that is searched.
        ("draft", nothing),
    ] {
        assert_eq!(found(store, text).await, expected, "{text}");
    }
    let of_daemon = SearchFound {
        activations: vec![activation_id(7)],
        runs: vec!["em-8-tidy".to_owned()],
        outputs: vec![key.clone()],
        events: Vec::new(),
    };
    assert_eq!(found(store, "tidy").await, of_daemon);
    let own = found(store, "moved wick").await;
    assert_eq!(own.runs, of_daemon.runs, "by its result");
    assert_eq!(found(store, "em-8").await.runs, of_daemon.runs);
    let beginning = &key.as_str()[..6];
    for text in [beginning, "heads/daemon/0"] {
        let outputs = found(store, text).await.outputs;
        assert_eq!(outputs, std::slice::from_ref(&key), "{text}");
    }
}
