//! What the tests of bad deliveries share: a host with daemons, and checks that it and its other daemons are not affected.

use serde_json::{Value, json};

use crate::http::{Answer, hmac_hex, pull_request_opened, repository, sender};
use crate::world::{Host, SECRET, World, watch};

/// A provider that makes nothing.
const QUIET: &str =
    "cat > /dev/null\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"seen\"}'\n";

/// A host with daemons for most of what is sent, and a bystander that only good deliveries concern.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) host: Host,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(more: &[(&str, &str)]) -> Self {
        Self::planted(more, &[])
    }

    /// Starts the host with variables.
    pub(crate) fn planted(more: &[(&str, &str)], env: &[(&str, &str)]) -> Self {
        let daemons = [
            ("pr-helper", watch(&["when a pull request is opened"])),
            ("pusher", watch(&["when a commit is pushed"])),
            ("bystander", watch(&["when a label is created"])),
            ("listener", watch(&["when a Linear issue is moved to Done"])),
        ];
        let daemons: Vec<(&str, &str)> = daemons
            .iter()
            .map(|(id, wakes)| (*id, wakes.as_str()))
            .collect();
        let world = World::new(&[&daemons[..], more].concat());
        let secret = "secret_file = \"hook-secret\"\n";
        let sections =
            ["linear", "slack", "sentry"].map(|source| format!("[sources.{source}]\n{secret}"));
        world.configure(&sections.concat());
        world.script(QUIET);
        let host = world.serve_with(&[], env);
        Self { world, host }
    }

    pub(crate) fn head(&self) -> String {
        self.world.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Sends a body that GitHub signed, and checks the status and a part of the message.
    #[track_caller]
    pub(crate) fn github(
        &self,
        (kind, delivery): (&str, &str),
        body: &Value,
        status: u16,
        message: &str,
    ) -> Answer {
        let answer = self.host.hook(kind, delivery, body);
        checked(answer, status, message)
    }

    /// Sends headers and bytes to a source.
    pub(crate) fn raw(&self, source: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let all = [&[("Content-Type", "application/json")], headers].concat();
        self.host.post(&format!("/webhooks/{source}"), &all, body)
    }

    pub(crate) fn linear(&self, body: &str) -> Answer {
        let signature = hmac_hex(SECRET, body.as_bytes());
        let headers = [
            ("Linear-Event", "Issue"),
            ("Linear-Delivery", "l-1"),
            ("Linear-Signature", signature.as_str()),
        ];
        self.raw("linear", &headers, body)
    }

    pub(crate) fn slack(&self, sent: &str, body: &str) -> Answer {
        let signature = hmac_hex(SECRET, format!("v0:{sent}:{body}").as_bytes());
        let signature = format!("v0={signature}");
        let headers = [
            ("X-Slack-Request-Timestamp", sent),
            ("X-Slack-Signature", signature.as_str()),
        ];
        self.raw("slack", &headers, body)
    }

    pub(crate) fn sentry(&self, resource: &str, body: &str) -> Answer {
        let signature = hmac_hex(SECRET, body.as_bytes());
        let headers = [
            ("Sentry-Hook-Resource", resource),
            ("Request-ID", "s-1"),
            ("Sentry-Hook-Signature", signature.as_str()),
        ];
        self.raw("sentry", &headers, body)
    }

    /// Checks how often each daemon was woken, and that the host and the bystander are not affected.
    #[track_caller]
    pub(crate) fn ends_with(&self, expected: &[(&str, usize)]) {
        let label = json!({"action": "created", "label": {"name": "bug"}, "repository": repository("o/r"), "sender": sender()});
        self.github(("label", "of-the-bystander"), &label, 200, "");
        let n_woken: usize = expected.iter().map(|(_, n)| n).sum();
        let activations = self.host.settled(n_woken + 1);
        for activation in &activations {
            assert_eq!(activation["state"], "succeeded", "{activation:#}");
        }
        let n_of = |id: &str| {
            activations
                .iter()
                .filter(|one| one["daemon_id"] == id)
                .count()
        };
        let found: Vec<(&str, usize)> = expected.iter().map(|(id, _)| (*id, n_of(id))).collect();
        assert_eq!(found, expected, "{activations:#?}");
        assert_eq!((n_of("bystander"), activations.len()), (1, n_woken + 1));
        assert_eq!(self.host.open("GET", "/healthz", &[]).status, 200);
        let log = self.world.log();
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[track_caller]
pub(crate) fn checked(answer: Answer, status: u16, message: &str) -> Answer {
    assert_eq!(answer.status, status, "{answer:?}");
    let found = answer.json()["error"]["message"].clone();
    let found = found.as_str().unwrap_or_default();
    assert!(found.contains(message), "{message}: {answer:?}");
    answer
}

pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Returns an opened pull request whose head is a commit, with more members.
pub(crate) fn opened(number: u32, head: &str, more: &Value) -> Value {
    let mut body = pull_request_opened(number);
    body["pull_request"]["head"]["sha"] = json!(head);
    for (name, value) in more.as_object().expect("an object") {
        body["pull_request"][name] = value.clone();
    }
    body
}
