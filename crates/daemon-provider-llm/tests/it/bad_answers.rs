//! Invalid responses of a model API.

use daemon_fakes::{Message, Reply};
use daemon_provider::{ErrorClass, FailureKind, Outcome, Provider as _, StopReason, inputs};
use daemon_provider_llm::LlmProvider;
use serde_json::{Value, json};

use crate::kit::{Bench, end, failure, story};

/// Encodes bytes as gzip without compressing them.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let crc = bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    });
    let length = u16::try_from(bytes.len()).unwrap();
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(bytes);
    packed.extend((!crc).to_le_bytes());
    packed.extend(u32::from(length).to_le_bytes());
    packed
}

#[tokio::test]
async fn a_compressed_response_is_not_decompressed() {
    let events = "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Fixed.\"},\"finish_reason\":null}]}\n\n\
                  data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let answer = |encoding: Option<&str>, body: Vec<u8>| {
        let of_stream = ("Content-Type".to_owned(), "text/event-stream".to_owned());
        let encoding = encoding.map(|name| ("Content-Encoding".to_owned(), name.to_owned()));
        Reply::Bytes {
            code: 200,
            headers: [of_stream].into_iter().chain(encoding).collect(),
            body,
        }
    };
    let bench = Bench::new([answer(None, events.into())]);
    assert_eq!(end(&bench.play().await), (Outcome::Done, "Fixed."));
    let bench = Bench::new(vec![answer(Some("gzip"), gzip(events.as_bytes())); 5]);
    let (_, kind, class) = failure(&bench.play().await);
    assert_eq!(
        (kind, class),
        (FailureKind::Provider, ErrorClass::Retryable)
    );
    assert_eq!(bench.api.received().len(), 4, "it is tried again");
}

/// A shell script that acts as an MCP server with one tool.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='{"tools":[{"name":"tell","inputSchema":{"type":"object"}}]}' ;;
    *'"tell"'*) answer='{"content":[{"type":"text","text":"told"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
"#;

/// Counts the processes that carry the marker of a run, or of one of its parts.
fn n_left_of(run: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter(|entry| {
        let path = entry.as_ref().unwrap().path().join("environ");
        let environ = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&environ).contains(&format!("DAEMON_RUN_ID={run}"))
    });
    processes.count()
}

#[tokio::test]
async fn servers_of_a_run_are_closed_however_it_ends() {
    let tell = || Reply::call("tell", json!({}));
    let table: [(&str, Vec<Reply>); 5] = [
        ("done", vec![tell(), Reply::text("ok")]),
        ("refused", vec![tell(), Reply::error(401, "no")]),
        ("limit", vec![tell(), tell(), tell()]),
        ("without any text", vec![Reply::text("")]),
        ("budget", vec![Reply::text("late")]),
    ];
    for (ending, replies) in table {
        let bench = Bench::new(replies);
        let server: Value = json!({"name": "s", "command": "sh", "args": ["-c", SERVER]});
        let mut request = bench.request();
        request.mcp = inputs::mcp(&[server]).unwrap();
        request.limits.max_turns = Some(3);
        if ending == "budget" {
            request.limits.budget = Some(daemon_provider::MicroUsd(1));
            request.grants = crate::kit::BudgetGrants::of(1);
        }
        let run = request.run_id.to_string();
        let provider = LlmProvider::new(bench.supervisor.clone(), bench.config("openai")).unwrap();
        let mut running = provider.start(request).await.unwrap();
        assert_eq!(n_left_of(&run), 1, "{ending}: the server runs");
        let events = story(&mut *running).await;
        let kind = match end(&events).0 {
            Outcome::Failed(failure) => Some(failure.kind),
            Outcome::Done => None,
            Outcome::Stopped(reason) => panic!("{ending}: {reason:?}"),
        };
        let expected = match ending {
            "done" => None,
            "refused" => Some(FailureKind::Provider),
            "limit" => Some(FailureKind::Limit),
            "budget" => Some(FailureKind::Budget),
            _ => Some(FailureKind::Protocol),
        };
        assert_eq!(kind, expected, "{ending}");
        assert_eq!(n_left_of(&run), 0, "{ending}");
    }
    let bench = Bench::new([Reply::Silence(Message::text("half"))]);
    let mut request = bench.request();
    request.mcp =
        inputs::mcp(&[json!({"name": "s", "command": "sh", "args": ["-c", SERVER]})]).unwrap();
    let run = request.run_id.to_string();
    let mut running = bench.start(bench.config("openai"), request).await;
    running.cancel(StopReason::Timeout).await.unwrap();
    let events = story(&mut *running).await;
    assert_eq!(end(&events).0, Outcome::Stopped(StopReason::Timeout));
    assert_eq!(n_left_of(&run), 0);
}
