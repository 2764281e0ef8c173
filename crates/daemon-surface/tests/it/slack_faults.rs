//! Every verb of Slack under every fault at every request: one effect, and a row that names it.

use daemon_engine::OutputState;
use daemon_fakes::{FakeClock, ServiceFault, SlackApi, SlackChannel, SlackUser};
use daemon_surface::{Credentials, ServiceApi, SlackSurface};

use super::faults::{fail_nth, faults};
use super::outbox::{HostClock, KILLS, Kill, Planned, planned, settled};

const CHANNEL: &str = "C024BE91L";
const MESSAGE: &str =
    r#"{"v":1,"verb":"message","target":"slack:C024BE91L","slot":"digest","body":"The digest."}"#;

fn slack() -> SlackApi {
    let api = SlackApi::start(0, FakeClock::default()).unwrap();
    for (id, name, bot) in [("U1", "librarian", Some("B1")), ("U2", "ann", None)] {
        api.add_user(SlackUser {
            id: id.to_owned(),
            name: name.to_owned(),
            bot: bot.map(str::to_owned),
        });
    }
    api.add_token("xoxb-1", "U1");
    api.set_channel(SlackChannel {
        id: CHANNEL.to_owned(),
        name: "digests".to_owned(),
        is_member: true,
        is_archived: false,
    });
    api
}

fn surface(api: &SlackApi, clock: &HostClock) -> SlackSurface {
    let base = format!("{}/api", api.server().base_url()).parse().unwrap();
    let credentials = Credentials::Token("xoxb-1".parse().unwrap());
    SlackSurface::new(ServiceApi::new(base, credentials, clock.wall()).unwrap())
}

/// Delivers one output under one fault and returns the number of requests.
async fn check(
    (api, line): (&SlackApi, &str),
    edits: Option<&str>,
    fault: (usize, &ServiceFault),
    kill: Kill,
) -> usize {
    let clock = HostClock::new();
    let more = Planned {
        edits,
        ..Planned::default()
    };
    let output = planned(1, line, more);
    let before = api.server().received().len();
    fail_nth(api.server(), fault.0, fault.1.clone());
    let output = settled(&surface(api, &clock), output, kill, &clock).await;
    let context = format!("{line} {edits:?} {fault:?} {kill:?}: {output:?}");
    assert_eq!(output.state, OutputState::Confirmed, "{context}");
    let messages = api.messages();
    let own = messages
        .iter()
        .filter(|message| message.metadata["event_payload"]["output"] == output.key.as_str());
    let effects: Vec<String> = own
        .map(|message| format!("message:{CHANNEL}/{}", message.ts))
        .collect();
    assert_eq!(
        effects,
        output.remote_id.into_iter().collect::<Vec<_>>(),
        "{context}"
    );
    api.server().received().len() - before
}

/// Checks a proposal with every fault at every request; `prepare` returns it, and the remote id of the message in the slot.
async fn check_all(prepare: impl AsyncFn(&SlackApi) -> (String, Option<String>)) {
    for kill in KILLS {
        for fault in faults() {
            let mut nth = 1;
            loop {
                let api = slack();
                api.post(CHANNEL, "U2", "Good morning.");
                let (line, edits) = prepare(&api).await;
                let n = check((&api, &line), edits.as_deref(), (nth, &fault), kill).await;
                if n < nth || fault == ServiceFault::None {
                    break;
                }
                nth += 1;
            }
        }
    }
}

#[tokio::test]
async fn messages_have_one_effect_under_every_fault() {
    check_all(async |_| (MESSAGE.to_owned(), None)).await;
}

#[tokio::test]
async fn messages_in_a_slot_have_one_effect_under_every_fault() {
    check_all(async |api| {
        let clock = HostClock::new();
        let earlier = planned(9, MESSAGE, Planned::default());
        let earlier = settled(&surface(api, &clock), earlier, Kill::Never, &clock).await;
        (MESSAGE.to_owned(), earlier.remote_id)
    })
    .await;
}

#[tokio::test]
async fn a_deleted_message_in_a_slot_is_written_again_once() {
    let deleted = format!("message:{CHANNEL}/1000.000001");
    check_all(async |_| (MESSAGE.to_owned(), Some(deleted.clone()))).await;
}

#[tokio::test]
async fn replies_have_one_effect_under_every_fault() {
    check_all(async |api| {
        let ts = api.post(CHANNEL, "U2", "A question?");
        let line =
            format!(r#"{{"v":1,"verb":"reply","target":"slack:{CHANNEL}/{ts}","body":"Known."}}"#);
        (line, None)
    })
    .await;
}
