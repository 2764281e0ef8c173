//! `daemon.json` whole, at its start and at its end.

use std::fs;
use std::time::Duration;

use daemon_run_folder::{
    BudgetRecord, ChildProcess, CliTokens, Dropped, Exit, GroupId, Outcome, OutputStream,
    PresetRecord, RunStart, RunState, SandboxRecord, StopReason, TokensRecord, ToolStatus,
    Truncation, Writer,
};
use expect_test::expect_file;
use serde_json::{Value, json};

use crate::kit::{Home, at, document, start, text};

/// A start that says everything there is to say.
fn everything() -> RunStart {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let group: GroupId = "dg-20260102-030405-77aa01".parse().unwrap();
    RunStart {
        group_id: Some(group),
        tools: vec!["file".to_owned(), "email".to_owned()],
        call_parameters: object(
            json!({"task": "repair links", "tools": null, "mcp": [{"name": "m"}]}),
        ),
        backend_options: object(json!({"effort": "high", "api_key": "<redacted>"})),
        model: "opus".to_owned(),
        preset: Some(PresetRecord {
            name: "fast".to_owned(),
            provider: "llm".to_owned(),
            model: "small".to_owned(),
        }),
        max_turns: Some(100),
        timeout: Some(Duration::from_secs(3600)),
        idle_timeout: Some(Duration::from_millis(2500)),
        budget: BudgetRecord {
            usd: Some(1.5),
            tokens: Some(9),
            reserved_usd: Some(0.25),
        },
        permissions: "read".to_owned(),
        sandbox: SandboxRecord {
            level: 2,
            detail: "landlock".to_owned(),
        },
        ..start()
    }
}

#[test]
fn a_new_document_contains_every_start_field_and_nothing_else() {
    let home = Home::new();
    let writer = home.run(everything());
    let folder = writer.folder().clone();
    expect_file!["documents/start.json"].assert_eq(&home.plain(&folder, &text(folder.document())));
}

fn child() -> ChildProcess {
    ChildProcess {
        pid: 4242,
        start: 99,
        pgid: 4242,
    }
}

/// Does to a run all that can be done to it.
fn whole_life(writer: &mut Writer) {
    let exit = Exit::Code(0);
    let used = TokensRecord {
        input: 75,
        output: 7,
        thinking: 0,
        cached: 25,
    };
    let line = ("Reading.", Truncation::Whole);
    writer
        .spawned(child(), vec!["/usr/bin/claude".to_owned()], at(10))
        .unwrap();
    writer.session("s1", at(20)).unwrap();
    writer.turn(2, at(30)).unwrap();
    writer
        .output(OutputStream::Stdout, line.0, line.1, at(1000))
        .unwrap();
    writer.tool_start("Read", "{}", at(1100)).unwrap();
    writer.tool_end("Read", ToolStatus::Ok, at(1200)).unwrap();
    writer
        .dropped(Dropped { lines: 1, bytes: 2 }, at(1300))
        .unwrap();
    writer.cli_usage(used, Some(0.25), json!({}));
    writer
        .stopping(StopReason::Grace, Some("stayed"), at(22_000))
        .unwrap();
    writer.exited(exit, at(22_500)).unwrap();
    let text = format!("{}{}", "é".repeat(200), "more");
    writer
        .provider_ended(&Outcome::Done, &text, at(22_600))
        .unwrap();
    writer.finish(&Outcome::Done, at(22_700)).unwrap();
    writer.ask_started(at(30_000)).unwrap();
    writer.ask_ended(1, Ok("yes"), at(31_000)).unwrap();
    writer.published(41, at(32_000)).unwrap();
}

#[test]
fn a_document_after_every_kind_of_event_keeps_its_key_order() {
    let home = Home::new();
    let mut writer = home.run(everything());
    let folder = writer.folder().clone();
    whole_life(&mut writer);
    let shown = home.plain(&folder, &text(folder.document()));
    let shown = shown.replace(&"é".repeat(200), "(200 é)");
    expect_file!["documents/every_event.json"].assert_eq(&shown);
}

#[test]
fn each_provider_has_its_own_session_key_and_the_first_session_stays() {
    for (backend, key) in [
        ("claude", "claude_session_id"),
        ("codex", "codex_session_id"),
        ("opencode", "opencode_session_id"),
        ("wc", "command_session_id"),
    ] {
        let home = Home::new();
        let mut begin = start();
        backend.clone_into(&mut begin.backend);
        let mut writer = home.run(begin);
        writer.session("first", at(1)).unwrap();
        writer.session("second", at(2)).unwrap();
        let stored: Value = serde_json::from_str(&text(writer.folder().document())).unwrap();
        let sessions: Vec<_> = stored
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| name.ends_with("_session_id"))
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        assert_eq!(sessions, [(key, json!("first"))]);
    }
}

#[test]
fn unknown_keys_stay_at_the_end_of_the_document() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    drop(writer);
    let known = text(folder.document());
    let more = known.replacen('{', "{\n  \"zeal\": {\"b\": 1, \"a\": [2]},", 1);
    let more = more.replacen("\"task\"", "\"beta\": null,\n  \"task\"", 1);
    fs::write(folder.document(), more).unwrap();
    let mut writer = Writer::adopt(folder.clone(), at(1)).unwrap();
    writer.tool_start("t", "{}", at(2_000)).unwrap();
    writer.finish(&Outcome::Done, at(3_000)).unwrap();
    writer.published(1, at(3_000)).unwrap();
    let shown = text(folder.document());
    let (before, after) = shown.split_once("  \"notified_seq\": 1").unwrap();
    let order: Vec<&str> = known.lines().filter_map(key).collect();
    let mut kept: Vec<&str> = before.lines().filter_map(key).collect();
    kept.push("notified_seq");
    assert_eq!(kept, order);
    let rest = ",\n  \"zeal\": {\n    \"b\": 1,\n    \"a\": [\n      2\n    ]\n  },\n  \"beta\": null\n}\n";
    assert_eq!(after, rest);
}

/// Returns the name of a member of the outermost object.
fn key(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("  \"")?.split_once('"')?;
    Some(name)
}

#[test]
fn a_tool_is_current_until_it_or_its_turn_or_its_run_ends() {
    let home = Home::new();
    let used = |end: fn(&mut Writer)| {
        let mut writer = home.run(start());
        writer.tool_start("Read", "{}", at(1000)).unwrap();
        writer.tool_start("Bash", "{}", at(2000)).unwrap();
        let during = document(writer.folder());
        end(&mut writer);
        let after = document(writer.folder());
        let shown = |document: daemon_run_folder::Document| {
            (document.current_tool, document.tool_call_count)
        };
        (shown(during), shown(after))
    };
    let ends: [fn(&mut Writer); 3] = [
        |writer| writer.tool_end("Bash", ToolStatus::Ok, at(3000)).unwrap(),
        |writer| writer.turn(2, at(3000)).unwrap(),
        |writer| {
            assert_eq!(
                writer.finish(&Outcome::Done, at(3000)).unwrap(),
                RunState::Done
            );
        },
    ];
    for end in ends {
        let during = (Some("Bash".to_owned()), 2);
        assert_eq!(used(end), (during, (None, 2)));
    }
}

#[test]
fn usage_of_a_program_counts_only_after_success() {
    let used = TokensRecord {
        input: 75,
        output: 7,
        thinking: 2,
        cached: 25,
    };
    for (stop, calls) in [(None, 2), (Some(StopReason::Reclaim), 0)] {
        let home = Home::new();
        let mut writer = home.run(start());
        writer.cli_usage(used, None, json!({}));
        writer.cli_usage(used, Some(0.5), json!({}));
        if let Some(reason) = stop {
            writer.stopping(reason, None, at(1)).unwrap();
        }
        assert_eq!(document(writer.folder()).cli_tokens, CliTokens::default());
        writer.finish(&Outcome::Done, at(2)).unwrap();
        let found = document(writer.folder());
        let total = TokensRecord {
            input: 75 * calls,
            output: 7 * calls,
            thinking: 2 * calls,
            cached: 25 * calls,
        };
        let expected = CliTokens {
            tokens: total,
            calls,
            cost_usd: stop.is_none().then_some(0.5),
        };
        assert_eq!(
            (found.cli_tokens, found.tokens),
            (expected, TokensRecord::default())
        );
    }
}
