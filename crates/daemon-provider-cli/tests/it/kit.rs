//! A worktree, a script, and a record of its run.

use std::fs;
use std::path::PathBuf;

use daemon_process::Supervisor;
use daemon_provider::{
    Exit, Outcome, OutputStream, Provider as _, ProviderError, Run, RunEvent, RunId, RunRequest,
};
use daemon_provider_cli::{CommandConfig, CommandProvider};

pub(crate) struct Bench {
    directory: tempfile::TempDir,
    supervisor: Supervisor,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["worktree", "home", "context"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self {
            directory,
            supervisor: Supervisor::start().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn supervisor(&self) -> Supervisor {
        self.supervisor.clone()
    }

    /// Runs `/bin/sh` with this script.
    pub(crate) fn config(&self, script: &str) -> CommandConfig {
        let mut config = CommandConfig::new("command", "/bin/sh");
        config.program.args = vec!["-c".to_owned(), script.to_owned()];
        config
    }

    pub(crate) fn provider(&self, config: CommandConfig) -> CommandProvider {
        CommandProvider::new(self.supervisor.clone(), config)
    }

    pub(crate) fn request(&self) -> RunRequest {
        // The id marks the processes of a run, so no two tests may share one.
        let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        let number = u32::from_str_radix(&uuid[..8], 16).unwrap().max(1);
        let id: RunId = format!("em-{number}-20260102-030405-{}", &uuid[30..36])
            .parse()
            .unwrap();
        let mut request = RunRequest::new(id, self.path("worktree"));
        request.home = self.path("home");
        request.environment = [("PATH".into(), "/usr/bin:/bin".into())].into();
        request
    }

    pub(crate) async fn start(&self, config: CommandConfig) -> Result<Box<dyn Run>, ProviderError> {
        self.provider(config).start(self.request()).await
    }

    pub(crate) async fn story(&self, config: CommandConfig) -> Story {
        story(&mut *self.start(config).await.unwrap()).await
    }

    pub(crate) async fn play(&self, script: &str) -> Story {
        self.story(self.config(script)).await
    }
}

/// The events and output of a run, without the order between its streams.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
    pub(crate) events: Vec<RunEvent>,
    pub(crate) exit: Option<Exit>,
    pub(crate) end: Option<(Outcome, String)>,
}

pub(crate) async fn story(run: &mut dyn Run) -> Story {
    let mut acc = Story::default();
    while let Some(event) = run.next().await.unwrap() {
        assert_eq!(acc.end, None, "{event:?} after the end");
        match event {
            RunEvent::Output {
                stream: OutputStream::Stdout,
                text,
                ..
            } => acc.stdout.push(text),
            RunEvent::Output {
                stream: OutputStream::Stderr,
                text,
                ..
            } => acc.stderr.push(text),
            RunEvent::Spawned { .. } => {}
            RunEvent::Exited(exit) => acc.exit = Some(exit),
            RunEvent::Terminal { outcome, text } => acc.end = Some((outcome, text)),
            event => acc.events.push(event),
        }
    }
    acc
}

/// Reads until the script has printed this line.
pub(crate) async fn until(run: &mut dyn Run, line: &str) {
    loop {
        match run.next().await.unwrap() {
            Some(RunEvent::Output { text, .. }) if text == line => return,
            Some(RunEvent::Terminal { .. }) | None => panic!("the run ended before `{line}`"),
            Some(_) => {}
        }
    }
}

pub(crate) fn done(text: &str) -> Option<(Outcome, String)> {
    Some((Outcome::Done, text.to_owned()))
}
