use super::*;
use crate::feed::Feed;
use crate::name::Pair;

fn live() -> Arc<LiveTurn> {
    let pair = Pair {
        agent: "scout".parse().unwrap(),
        sender: "a".parse().unwrap(),
    };
    LiveTurn::new(&pair, &Arc::<Feed>::default())
}

fn message(content: &str, key: Option<&str>) -> Work {
    let message = QueuedMessage {
        content: content.to_owned(),
        via: "test".to_owned(),
        key: key.map(str::to_owned),
        cwd: None,
        tool_choice: None,
        chain: TurnChain::default(),
    };
    Work::Message(message, live())
}

fn word(admitted: &Admitted) -> &'static str {
    match admitted {
        Admitted::Start => "start",
        Admitted::Waits => "waits",
        Admitted::Same(_) => "same",
        Admitted::Busy(_) => "busy",
    }
}

fn shown(work: Option<&Work>) -> String {
    match work {
        Some(Work::Message(message, _)) => message.content.clone(),
        Some(Work::Resume(_)) => "resume".to_owned(),
        Some(Work::Compact(..)) => "compact".to_owned(),
        None => "nothing".to_owned(),
    }
}

#[test]
fn messages_run_one_after_another_in_the_order_in_which_they_came() {
    let mut inbox = Inbox::default();
    assert_eq!(word(&inbox.admit(message("a", None), 2)), "start");
    assert_eq!(shown(inbox.take().as_ref()), "a");
    assert_eq!(word(&inbox.admit(message("b", Some("k")), 2)), "waits");
    assert_eq!(word(&inbox.admit(message("b", Some("k")), 2)), "same");
    assert_eq!(word(&inbox.admit(message("c", None), 2)), "waits");
    assert_eq!(word(&inbox.admit(message("d", None), 2)), "busy");
    // A message that repeats one is no further message.
    assert_eq!(word(&inbox.admit(message("b", Some("k")), 2)), "same");
    assert_eq!(shown(inbox.take().as_ref()), "b");
    assert_eq!(shown(inbox.take().as_ref()), "c");
    assert!(inbox.is_active());
    assert_eq!(shown(inbox.take().as_ref()), "nothing");
    assert!(!inbox.is_active());
    assert_eq!(word(&inbox.admit(message("e", None), 2)), "start");
}

#[test]
fn a_turn_of_an_earlier_host_goes_before_the_message_that_found_it() {
    let mut inbox = Inbox::default();
    inbox.admit(message("a", None), 2);
    inbox.admit(message("b", None), 2);
    assert_eq!(shown(inbox.take().as_ref()), "a");
    inbox.precede(&live());
    assert_eq!(shown(inbox.all().next()), "resume");
    assert_eq!(shown(inbox.take().as_ref()), "a");
    assert_eq!(shown(inbox.take().as_ref()), "b");
    assert_eq!(shown(inbox.take().as_ref()), "nothing");
}

#[test]
fn an_answered_turn_goes_before_what_waits() {
    let mut inbox = Inbox::default();
    assert_eq!(word(&inbox.resume(live())), "start");
    inbox.admit(message("a", None), 2);
    assert_eq!(word(&inbox.resume(live())), "waits");
    let order: Vec<String> = std::iter::from_fn(|| inbox.take())
        .map(|work| shown(Some(&work)))
        .collect();
    assert_eq!(order, ["resume", "resume", "a"]);
}

#[test]
fn a_driver_that_broke_leaves_nothing_behind() {
    let mut inbox = Inbox::default();
    inbox.admit(message("a", None), 2);
    inbox.take();
    inbox.admit(message("b", None), 2);
    let lost: Vec<String> = inbox.broke().iter().map(|work| shown(Some(work))).collect();
    assert_eq!(lost, ["a", "b"]);
    assert!(!inbox.is_active());
    assert_eq!(word(&inbox.admit(message("c", None), 2)), "start");
}
