//! A stand-in for a coding agent, and constructors of expected events.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use daemon_fakes::Transcript;
use daemon_provider::{
    ErrorClass, Failure, FailureKind, Outcome, Provider as _, Run, RunEvent, RunRequest, SessionId,
    ToolStatus, Usage,
};
use daemon_provider_cli::{Agent, AgentConfig, AgentProvider};

use crate::kit::{Bench, Story, story};

/// Makes an agent that records its arguments, environment and input, prints a transcript and exits.
pub(crate) fn agent(bench: &Bench, agent: Agent, transcript: &str, exit: i32) -> AgentConfig {
    let bin = bench.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let recorded = Transcript {
        complaints: "a word of complaint\n".to_owned(),
        exit,
        kept_in: Some(bench.path("")),
        ..Transcript::new(transcript)
    };
    recorded.install(&bin.join(agent.as_str())).unwrap();
    let mut config = AgentConfig::new(agent.as_str(), agent);
    config.program.search = format!("{}:/usr/bin:/bin", bin.display()).into();
    config
}

pub(crate) async fn play(kind: Agent, transcript: &str, exit: i32) -> Story {
    let bench = Bench::new();
    let config = agent(&bench, kind, transcript, exit);
    let provider = AgentProvider::new(bench.supervisor(), config);
    story(&mut *provider.start(bench.request()).await.unwrap()).await
}

/// Starts `claude` as a shell script.
pub(crate) async fn start_shell(bench: &Bench, script: &str) -> Box<dyn Run> {
    let bin = bench.path("bin");
    let program = bin.join("claude");
    fs::create_dir_all(&bin).unwrap();
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = AgentConfig::new("claude", Agent::Claude);
    config.program.search = format!("{}:/usr/bin:/bin", bin.display()).into();
    let provider = AgentProvider::new(bench.supervisor(), config);
    provider.start(bench.request()).await.unwrap()
}

pub(crate) fn failed(
    kind: FailureKind,
    class: ErrorClass,
    message: &str,
    text: &str,
) -> Option<(Outcome, String)> {
    let failure = Failure {
        kind,
        class,
        message: message.to_owned(),
    };
    Some((Outcome::Failed(failure), text.to_owned()))
}

pub(crate) fn session(id: &str) -> RunEvent {
    RunEvent::Session(id.parse().unwrap())
}

pub(crate) fn tool(id: &str, name: &str, args: &str) -> RunEvent {
    RunEvent::ToolStart {
        id: id.to_owned(),
        name: name.to_owned(),
        args: args.to_owned(),
    }
}

pub(crate) fn tool_end(id: &str, name: &str, status: ToolStatus) -> RunEvent {
    RunEvent::ToolEnd {
        id: id.to_owned(),
        name: name.to_owned(),
        status,
    }
}

/// Returns the JSON value at a pointer in the lines of a transcript; an array if several lines have one.
pub(crate) fn words(transcript: &str, pointer: &str) -> serde_json::Value {
    let lines = transcript
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let found: Vec<_> = lines
        .filter_map(|line| line.pointer(pointer).cloned())
        .collect();
    assert!(!found.is_empty(), "no line has {pointer}");
    match <[serde_json::Value; 1]>::try_from(found) {
        Ok([one]) => one,
        Err(all) => all.into(),
    }
}

pub(crate) fn usage(input: u64, cached: u64, output: u64) -> Usage {
    Usage {
        input,
        output,
        thinking: 0,
        cached,
        cost: None,
    }
}
/// Returns the arguments, the environment and the input that an agent received.
pub(crate) async fn given(
    kind: Agent,
    change: impl FnOnce(&mut AgentConfig, &mut RunRequest, &Bench),
) -> (Vec<String>, Vec<String>, Vec<u8>) {
    let bench = Bench::new();
    let mut config = agent(&bench, kind, "", 0);
    let mut request = bench.request();
    request.prompt = b"-- do it\n".to_vec();
    change(&mut config, &mut request, &bench);
    let provider = AgentProvider::new(bench.supervisor(), config);
    story(&mut *provider.start(request).await.unwrap()).await;
    let read = |name: &str| fs::read(bench.path(name)).unwrap();
    let lines = |name: &str| -> Vec<String> {
        let place = bench.path("").display().to_string();
        let text = String::from_utf8(read(name)).unwrap();
        text.lines().map(|line| line.replace(&place, "/")).collect()
    };
    (lines("args"), lines("env"), read("stdin"))
}

pub(crate) fn script(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn resume(id: &str) -> Option<SessionId> {
    Some(id.parse().unwrap())
}
