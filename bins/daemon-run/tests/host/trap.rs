//! A host in which fifty secrets are planted, and programs that print everything they were given.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use daemon_fakes::{Message, ModelApi, Reply};
use serde_json::{Value, json};

use crate::leaks::{encodings, escaped};
use crate::world::{Host, World, executable, watch};

/// How many secrets are planted.
const N_PLANTED: usize = 50;
/// Secrets that the host knows only by their looks, from this one on; the last is a line of a private key.
const BY_LOOKS: usize = 44;
const KEY_LINE: usize = 49;

/// The secrets that the host itself holds, and those of each run, by their numbers.
const OF_HOST: std::ops::Range<usize> = 0..19;
const OF_CLAUDE: std::ops::Range<usize> = 22..31;
const OF_OPENCODE: std::ops::Range<usize> = 31..38;
const OF_CODEX: std::ops::Range<usize> = 38..42;
/// Values of arguments that the operator or the caller gave, which are what those arguments are for.
pub(crate) const OF_ARGUMENTS: std::ops::Range<usize> = 15..22;
/// Variables that the configuration hands to `sh`.
pub(crate) const OF_ENVIRONMENT: std::ops::Range<usize> = 11..14;

fn planted() -> Vec<String> {
    let plain = |n: usize| {
        let noise = (n as u32 + 1).wrapping_mul(2_654_435_761);
        format!("cnry-{n:02}-{noise:08x}")
    };
    let by_looks = |n: usize| {
        let noise = plain(n).replace('-', "0");
        match n {
            44 => format!("ghp_{noise}a1B2c3D4e5F6g7H8i9J0"),
            45 => format!("sk-ant-{noise}-a1B2c3D4e5F6g7"),
            46 => format!("AKIA{}", noise.to_uppercase().replace('N', "X")),
            47 => format!("xoxb-{noise}-a1B2c3D4e5"),
            48 => format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{noise}.c2lnbmF0dXJlIG9mIG5vYm9keQ"),
            _ => format!("MIIE{noise}a1B2c3D4e5F6g7H8i9J0"),
        }
    };
    let all = (0..N_PLANTED).map(|n| match n {
        7 => format!("{}-of-the-bearer-0123456789abcdef", plain(n)),
        // What may hold anything holds what escapes are made of.
        0 | 11 | 14 | 22 | 23 | 27 | 31 | 34 | 38 | 42 => format!("{}/\"+%2b\\q", plain(n)),
        _ if n >= BY_LOOKS => by_looks(n),
        _ => plain(n),
    });
    all.collect()
}

/// The name of an agent, the secrets of its run, its first line, and its last lines.
type Agent = (
    &'static str,
    Vec<std::ops::Range<usize>>,
    &'static str,
    String,
);

/// A world in which all of them are planted, and a model API that repeats what it is given.
pub(crate) struct Trap {
    pub(crate) world: World,
    pub(crate) secrets: Vec<String>,
    api: ModelApi,
    /// The files that hold secrets because the operator put them there.
    pub(crate) inputs: BTreeSet<String>,
}

impl Trap {
    pub(crate) fn set() -> Self {
        let wakes = watch(&["when a commit is pushed to main"]);
        let world = World::new(&[
            ("leaker", &wakes),
            ("messenger", &wakes),
            ("failer", &wakes),
        ]);
        let secrets = planted();
        let known = secrets[OF_HOST].join(" ");
        let refused = secrets[10].clone();
        let api = ModelApi::scripted(move |request| match request.key.as_deref() {
            Some(key) if key == refused => {
                Reply::error(401, &format!("Incorrect API key provided: {key}"))
            }
            _ if request.tool_results().is_empty() => Reply::Message(
                Message::text(&known)
                    .and_call("read", json!({"path": format!("{known}.md")}))
                    .and_call(&known, json!({"key": known})),
            ),
            _ => Reply::text(format!("The end: {known}")),
        });
        let mut trap = Self {
            world,
            secrets,
            api: api.expect("a port"),
            inputs: BTreeSet::new(),
        };
        trap.configure();
        trap.write_programs();
        trap
    }

    fn beside(&self, name: &str) -> String {
        self.world.beside(name).display().to_string()
    }

    fn plant(&mut self, name: &str, text: &str) {
        let path = self.world.home.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, format!("{text}\n")).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("its mode");
        self.inputs.insert(path.display().to_string());
    }

    fn configure(&mut self) {
        let secret = self.secrets.clone();
        let hooks = format!("{}\n{}", secret[0], secret[1]);
        let api = self.api.base_url();
        for (name, text) in [
            ("github-hooks", hooks.as_str()),
            ("linear-hooks", &secret[3]),
            ("github-token", &secret[5]),
            ("token", &secret[7]),
            ("llm-key", &secret[8]),
            ("preset-key", &secret[10]),
            (
                "presets/mine.toml",
                &format!(
                    "kind = \"openai\"\nmodel = \"m\"\nbase_url = {api:?}\nkey_file = \"preset-key\""
                ),
            ),
        ] {
            self.plant(name, text);
        }
        let programs = ["claude", "codex", "opencode"].map(|name| {
            format!(
                "[provider.{name}]\ncommand = {:?}\nenv = [\"AGENT_API_KEY\"]\n\n",
                self.beside(&format!("{name}.sh"))
            )
        });
        let config = format!(
            "[[repo]]\npath = {repo:?}\nname = \"o/r\"\n\n\
             [sources.github]\nsecret_file = \"github-hooks\"\ntoken_file = \"github-token\"\napi_base = {api:?}\n\n\
             [sources.slack]\nsecret_env = \"SLACK_HOOK\"\ntoken_env = \"SLACK_TOKEN\"\napi_base = {api:?}\n\n\
             [sources.linear]\nsecret_file = \"linear-hooks\"\n\n[sources.sentry]\nsecret_env = \"SENTRY_HOOK\"\n\n\
             [provider]\ndefault = \"sh\"\n\n[provider.sh]\ncommand = {sh:?}\n\
             args = [\"--api-key\", {a:?}, \"--token={b}\", \"--to=https://someone:{c}@127.0.0.1:1/?key={d}\"]\n\
             env = [\"API_TOKEN\", \"DB_PASSWORD\", \"SIGNING_KEY\"]\n\n{programs}\
             [provider.llm]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = {api:?}\nkey_file = \"llm-key\"\n\n\
             [provider.other]\nkind = \"anthropic\"\nmodel = \"m\"\nbase_url = {api:?}\nkey_env = \"OTHER_KEY\"\n",
            repo = self.world.repo.display().to_string(),
            sh = self.beside("sh.sh"),
            a = secret[15],
            b = secret[16],
            c = secret[17],
            d = secret[18],
            programs = programs.concat(),
        );
        self.world.write_config(&config);
        // What the programs leak has to reach the host's files, which a sandbox would keep from them.
        self.world.unconfined();
        let path = self.world.home.join("config.toml");
        self.inputs.insert(path.display().to_string());
    }

    /// Starts the host with the variables that hold secrets.
    pub(crate) fn serve(&self, more: &[(&str, &str)]) -> Host {
        let named = [
            ("SLACK_HOOK", 2),
            ("SENTRY_HOOK", 4),
            ("SLACK_TOKEN", 6),
            ("OTHER_KEY", 9),
            ("API_TOKEN", 11),
            ("DB_PASSWORD", 12),
            ("SIGNING_KEY", 13),
            ("AGENT_API_KEY", 14),
        ];
        let mut variables = named
            .map(|(name, n)| (name, self.secrets[n].as_str()))
            .to_vec();
        variables.extend(more);
        self.world.serve_with(&[], &variables)
    }

    /// Returns the secrets that one run is to leak: the host's, its own, and those that only look like some.
    fn of_run(&self, own: &[std::ops::Range<usize>]) -> Vec<String> {
        let ranges = [OF_HOST].into_iter().chain(own.iter().cloned());
        let known = ranges.flatten().chain(BY_LOOKS..KEY_LINE);
        known.map(|n| self.secrets[n].clone()).collect()
    }

    /// Writes what a run prints: every form of every secret, then each in two halves on two lines, then a private key.
    fn leak(&self, name: &str, own: &[std::ops::Range<usize>]) -> PathBuf {
        let mut text = String::new();
        for secret in self.of_run(own) {
            let is_known = !self.secrets[BY_LOOKS..].contains(&secret);
            let all = if is_known {
                encodings(&secret)
            } else {
                vec![secret.clone()]
            };
            for form in all {
                writeln!(text, "{form}").expect("writing to a string cannot fail");
            }
            let middle = secret.len() / 2;
            writeln!(text, "{}\n{}", &secret[..middle], &secret[middle..])
                .expect("writing to a string cannot fail");
        }
        text.push_str(&self.private_key());
        let path = self.world.beside(&format!("{name}.leak"));
        fs::write(&path, text).expect("a file");
        path
    }

    fn private_key(&self) -> String {
        let line = &self.secrets[KEY_LINE];
        format!("-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----\n")
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.world.beside(&format!("{name}.sh"));
        executable(&path, &format!("#!/bin/sh\n{body}"));
    }

    /// Writes programs that print all they know in small pieces, wait until the test has read it, and print a result.
    fn write_programs(&self) {
        let directory = self.beside("");
        let waits = |name: &str| {
            format!("touch {directory}up-{name}\nuntil [ -e {directory}go ]; do sleep 0.02; done\n")
        };
        for (name, own, begin, end) in self.agents() {
            let leak = self.leak(name, &own).display().to_string();
            fs::write(self.world.beside(&format!("{name}.end")), end).expect("a file");
            self.program(
                name,
                &format!(
                    "cat > /dev/null\necho '{begin}'\ndd if={leak} bs=7 2>/dev/null\ncat {leak} >&2\n{}cat {directory}{name}.end\n",
                    waits(name)
                ),
            );
        }
        let leak = self.leak("sh", &[]).display().to_string();
        let told = self.of_run(&[]).join(" ");
        let quoted = escaped(&format!("{told}\n{}", self.private_key()));
        let events = format!(
            "{{\"daemon\":\"session\",\"id\":\"{session}\"}}\n\
             {{\"daemon\":\"tool_start\",\"id\":\"1\",\"name\":\"{quoted}\",\"args\":{{\"{quoted}\":\"{quoted}\"}}}}\n\
             {{\"daemon\":\"tool_end\",\"id\":\"1\",\"ok\":true}}\n\
             {{\"daemon\":\"output\",\"output\":{{\"v\":1,\"verb\":\"{quoted}\"}}}}\n\
             {{\"daemon\":\"output\",\"output\":{{\"v\":1,\"verb\":\"state\",\"set\":{{\"seen\":\"{quoted}\"}}}}}}\n",
            session = self.secrets[1],
        );
        let spooled = format!(
            "{{\"v\":1,\"verb\":\"state\",\"set\":{{\"spooled\":[\"{quoted}\"]}}}}\n{{\"v\":1,\"verb\":\"x {quoted}\"}}\n{quoted}\n"
        );
        let result = |ok| format!("{{\"daemon\":\"result\",\"ok\":{ok},\"text\":\"{quoted}\"}}\n");
        for (name, text) in [
            ("sh.events", events.as_str()),
            ("sh.spool", &spooled),
            ("sh.good", &result(true)),
            ("sh.bad", &result(false)),
        ] {
            fs::write(self.world.beside(name), text).expect("a file");
        }
        self.program(
            "sh",
            &format!(
                "cat > /dev/null\ncat {directory}sh.events\ncat {directory}sh.spool >> \"$DAEMON_OUTPUTS\"\n\
                 case \"$(cat \"$DAEMON_CONTEXT/DAEMON.md\")\" in\n\
                 *'id: leaker'*) dd if={leak} bs=7 2>/dev/null; cat {leak} >&2; {wait} cp {leak} LEAKED.md; cat {directory}sh.good;;\n\
                 *'id: messenger'*) echo note > NOTE.md; cat {directory}sh.good;;\n\
                 *) cat {directory}sh.bad;;\nesac\n",
                wait = waits("sh").replace('\n', "; ").trim_end(),
            ),
        );
        self.program("server", "env >&2\necho \"$@\" >&2\nexit 3\n");
    }

    /// Returns both halves of each secret of a run, as JSON escapes them.
    fn halves(&self, own: &[std::ops::Range<usize>]) -> Vec<String> {
        let secrets = self.of_run(own).into_iter();
        let halved = secrets.flat_map(|secret| {
            let (one, other) = secret.split_at(secret.len() / 2);
            [escaped(one), escaped(other)]
        });
        halved.collect()
    }

    /// Returns each agent with the secrets of its run, how it begins, and how it ends.
    fn agents(&self) -> [Agent; 3] {
        let claude = [OF_CLAUDE, 19..20].to_vec();
        let opencode = [OF_OPENCODE, 20..21].to_vec();
        let codex = [OF_CODEX, 21..22].to_vec();
        let told = |own: &[std::ops::Range<usize>]| escaped(&self.of_run(own).join(" "));
        let mut claude_end = format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Read\",\"input\":{{\"k\":\"{0}\"}}}}]}}}}\n",
            told(&claude)
        );
        for half in self.halves(&claude) {
            writeln!(claude_end, "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{half}\"}}]}}}}")
                .expect("writing to a string cannot fail");
        }
        writeln!(
            claude_end,
            "{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{0}\",\"permission_denials\":[{{\"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"{0}\"}}}}]}}",
            told(&claude)
        )
        .expect("writing to a string cannot fail");
        let codex_end = format!(
            "{{\"type\":\"item.started\",\"item\":{{\"id\":\"i\",\"type\":\"command_execution\",\"command\":\"{0}\"}}}}\n\
             {{\"type\":\"item.completed\",\"item\":{{\"id\":\"j\",\"type\":\"agent_message\",\"text\":\"{0}\"}}}}\n\
             {{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{0}\"}}}}\n",
            told(&codex)
        );
        // The text parts of the last message are joined into one result.
        let mut opencode_end = String::new();
        for half in self.halves(&opencode) {
            writeln!(opencode_end, "{{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{{\"messageID\":\"m\",\"text\":\"{half}\"}}}}")
                .expect("writing to a string cannot fail");
        }
        opencode_end.push_str("{\"type\":\"step_finish\",\"sessionID\":\"ses_1\",\"part\":{\"id\":\"p\",\"reason\":\"stop\"}}\n");
        [
            (
                "claude",
                claude,
                r#"{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}"#,
                claude_end,
            ),
            (
                "opencode",
                opencode,
                r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#,
                opencode_end,
            ),
            (
                "codex",
                codex,
                r#"{"type":"thread.started","thread_id":"t-1"}"#,
                codex_end,
            ),
        ]
    }

    /// Returns the call that dispatches a run with its own secrets.
    pub(crate) fn call(&self, backend: &str) -> Value {
        let s = |n: usize| self.secrets[n].as_str();
        let task = match backend {
            "claude" => {
                json!({"task": format!("Leak {}.", s(26)), "backend_options": {"some-token": s(19)}, "mcp": [
                {"name": "local", "command": "server", "args": ["--token", s(24), format!("--api-key={}", s(25))],
                 "env": {"MODE": s(22), "OTHER": s(23)}},
                {"name": "remote", "type": "http", "url": format!("http://{}:{}@127.0.0.1:1/mcp?k={}", s(28), s(29), s(30)),
                 "headers": {"Authorization": format!("Bearer {}", s(26)), "X-Key": s(27)}}]})
            }
            "opencode" => json!({"task": "Leak.", "system_prompt": format!("You know {}.", s(31)),
                "backend_options": {"some-secret": s(20)}, "mcp": [
                {"name": "local", "command": "server", "args": ["--token", s(32), format!("--api-key={}", s(33))], "env": {"MODE": s(31)}},
                {"name": "remote", "type": "http", "url": format!("http://{}:{}@127.0.0.1:1/mcp?k={}", s(35), s(36), s(37)),
                 "headers": {"X-Key": s(34)}}]}),
            "codex" => json!({"task": "Leak.", "backend_options": {"api_key": s(21)}, "mcp": [
                {"name": "local", "command": "server", "args": ["--token", s(39), format!("--api-key={}", s(40))], "env": {"MODE": s(38)}},
                {"name": "remote", "type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": s(41)}}]}),
            "preset" => json!({"task": "Fail.", "preset": "mine"}),
            "server" => json!({"task": "Fail.", "mcp": [
                {"name": "broken", "command": self.beside("server.sh"), "args": ["--token", s(43)], "env": {"MODE": s(42)}}]}),
            _ => json!({"task": "Leak."}),
        };
        let backend = match backend {
            "preset" | "server" => "llm",
            other => other,
        };
        json!({"action": "emanate", "backend": backend, "tasks": [task]})
    }
}
