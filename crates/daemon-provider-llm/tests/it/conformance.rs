//! The suite every provider passes.

use async_trait::async_trait;
use daemon_fakes::{Message, ModelApi, Reply};
use daemon_provider::conformance::{Behaviour, Fixture, check};
use daemon_provider::{Provider, RunRequest};
use daemon_provider_llm::LlmProvider;
use serde_json::json;

use crate::kit::Bench;

/// A bench whose model acts on the first word of the prompt.
fn bench() -> Bench {
    let api = ModelApi::scripted(|received| {
        let prompt = received.body["messages"][0]["content"].to_string();
        match prompt.as_str() {
            _ if prompt.contains("fail") => Reply::error(401, "no such key"),
            _ if prompt.contains("hang") && received.tool_results().is_empty() => {
                Reply::Message(Message::text("here").and_call("list", json!({})))
            }
            _ if prompt.contains("hang") => Reply::Silence(Message::text("never")),
            _ => Reply::text("fixed"),
        }
    });
    Bench::with(api.unwrap())
}

struct Llm(Bench);

#[async_trait]
impl Fixture for Llm {
    async fn prepare(&self, behaviour: Behaviour) -> Option<(Box<dyn Provider>, RunRequest)> {
        let mut request = self.0.request();
        request.prompt = match behaviour {
            Behaviour::Done => "work",
            Behaviour::Fails => "fail",
            Behaviour::Hangs => "hang",
            Behaviour::CannotStart => {
                request.resume = Some("no-session".parse().unwrap());
                ""
            }
            _ => return None,
        }
        .into();
        let provider =
            LlmProvider::new(self.0.supervisor.clone(), self.0.config("openai")).unwrap();
        Some((Box::new(provider), request))
    }
}

#[tokio::test]
async fn a_model_passes() {
    check(&Llm(bench())).await;
}
