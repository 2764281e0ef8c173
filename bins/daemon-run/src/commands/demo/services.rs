//! `demo --serve`: a GitHub on loopback around the scratch repository, whose signed webhooks reach the host.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use daemon_fakes::{FakeClock, GithubAccess, GithubAccountKind, GithubApi, GithubWebhook};
use daemon_host::serve::Ready;
use daemon_ingest::Secrets;
use daemon_process::{SandboxLevel, probe};
use daemon_records::{clock, random};
use serde_json::{Map, Value, json};

use super::branches::Branches;
use super::scratch::{REPOSITORY, SCRATCH_CONFIG};
use crate::failure::{CommandFailure, ExitKind};
use crate::out::Out;
use crate::scratch::Scratch;

const DAEMON: &str = include_str!("spelling.md");
const PROGRAM: &str = include_str!("speller.sh");
/// The account of the daemons, and the person who opens a pull request.
const BOT: &str = "lantern-bot";
const PERSON: &str = "alice";
/// The branch of that person.
const BRANCH: &str = "wick-care";
const TEXT: &str =
    "# Wick\n\nThe Lantren burns for nine hours. Trim the wick of your Lantren once a week.\n";
/// The longest wait for the host's response to a webhook.
const ANSWER: Duration = Duration::from_secs(10);

/// The GitHub of the demonstration.
pub(super) struct DemoServices {
    github: Arc<GithubApi>,
    secret: String,
}

impl DemoServices {
    /// Starts the services, and adds a daemon and the configuration for them to the scratch directory.
    pub(super) fn start(scratch: &Scratch) -> Result<Self, CommandFailure> {
        let github = GithubApi::start(0, FakeClock::new(now)).map_err(|error| {
            let message = format!("no port of loopback can be opened: {error}");
            CommandFailure::new(ExitKind::Unavailable, "no-port", message)
        })?;
        github.add_repo(REPOSITORY);
        github.add_account(PERSON, GithubAccountKind::User);
        let (token, secret) = (random::hex(20), random::hex(20));
        github.add_token(&token, BOT, GithubAccess::Write);
        github.add_collaborator(REPOSITORY, BOT);
        let branches = Branches::of(scratch);
        let files = branches.clone();
        github.read_branches(REPOSITORY, move |branch| branches.tip(branch));
        github.read_files(REPOSITORY, move |base, head| files.changed(base, head));
        scratch.write("home/github-token", &token)?;
        scratch.write("home/hook-secret", &secret)?;
        write_daemon(scratch, &github.server().base_url())?;
        Ok(Self {
            github: Arc::new(github),
            secret,
        })
    }

    /// Prints where everything is, and opens a pull request, whose webhook wakes a daemon.
    pub(super) fn begin(&self, ready: &Ready, out: Out) -> Result<JoinHandle<()>, CommandFailure> {
        let report = Report { out };
        let base = self.github.server().base_url();
        report.line(
            "github",
            "a GitHub on this machine",
            &format!("{base}/{REPOSITORY}"),
        );
        report.line(
            "host",
            "this link logs a browser in, once",
            &ready.login_url,
        );
        let secrets = Secrets::new([&self.secret]).expect("the secret was just made");
        let receiver = Receiver {
            address: ready.http.trim_start_matches("http://").to_owned(),
            secrets,
            report,
        };
        let url = format!("{}/webhooks/github", ready.http);
        self.github
            .add_hook(REPOSITORY, &url, move |webhook| receiver.deliver(webhook));
        let github = Arc::clone(&self.github);
        let thread = std::thread::Builder::new().name("demonstration".to_owned());
        let open = move || {
            let pull = json!({
                "title": "Explain how to care for the wick", "body": "A page about the wick.",
                "head": BRANCH, "base": "main",
            });
            let path = format!("/repos/{REPOSITORY}/pulls");
            let (status, refused) = github.act(PERSON, "POST", &path, &pull);
            if status != 201 {
                out.warn(&format!("the pull request could not be opened: {refused}"));
            }
        };
        thread.spawn(open).map_err(|error| {
            let message = format!("no thread can be started: {error}");
            CommandFailure::new(ExitKind::Unavailable, "no-thread", message)
        })
    }
}

fn now() -> Duration {
    clock::now().as_duration().unsigned_abs()
}

/// Writes the daemon, its program and its configuration, and a branch of a person.
fn write_daemon(scratch: &Scratch, api: &str) -> Result<(), CommandFailure> {
    scratch.write("lantern/.agents/daemons/spelling/DAEMON.md", DAEMON)?;
    scratch.commit("Add a daemon that corrects our own words")?;
    scratch.git(["switch", "--quiet", "--create", BRANCH])?;
    scratch.write("lantern/WICK.md", TEXT)?;
    scratch.commit("Explain how to care for the wick")?;
    scratch.git(["switch", "--quiet", "main"])?;
    let program = scratch.program("speller", PROGRAM)?;
    // Where no sandbox can be had, the program above may run without one: it is ours.
    let open = match probe().level < SandboxLevel::Confined {
        true => "[policy]\nsandbox_min = 1\n\n",
        false => "",
    };
    let program = program.display().to_string();
    let config = format!(
        "{SCRATCH_CONFIG}\n[log]\nlevel = \"warn\"\n\n[sources.github]\nsecret_file = \"hook-secret\"\n\n\
         [surfaces.github]\ntoken_file = \"github-token\"\napi_base = {api:?}\n\n\
         [provider.speller]\ncommand = {program:?}\n\n{open}\
         [policy.daemon.spelling]\nprovider = \"speller\"\n"
    );
    scratch.write("home/config.toml", &config)
}

/// Signs webhooks, sends them to the host, and prints what they report.
struct Receiver {
    address: String,
    secrets: Secrets,
    report: Report,
}

impl Receiver {
    /// Returns the status of the host, or 0 without a response.
    fn deliver(&self, webhook: &GithubWebhook) -> u16 {
        self.report.happened(webhook);
        match self.post(webhook) {
            Ok(status) => status,
            // A host that stops closes its port before the services end.
            Err(error) => {
                let GithubWebhook { event, .. } = webhook;
                let message = format!("the webhook `{event}` did not reach the host: {error}");
                self.report.out.note(&message);
                0
            }
        }
    }

    fn post(&self, webhook: &GithubWebhook) -> io::Result<u16> {
        let GithubWebhook { event, guid, body } = webhook;
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(ANSWER))?;
        let signature = self.secrets.github_signature(body.as_bytes());
        write!(
            stream,
            "POST /webhooks/github HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             X-GitHub-Event: {event}\r\nX-GitHub-Delivery: {guid}\r\nX-Hub-Signature-256: {signature}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a response"))
    }
}

/// Prints what happens in the demonstration: lines for people, or objects.
#[derive(Clone, Copy)]
struct Report {
    out: Out,
}

impl Report {
    fn line(self, name: &str, detail: &str, url: &str) {
        let printed = if self.out.is_json() {
            let members = [("name", name), ("detail", detail), ("url", url)];
            let members = members.map(|(name, value)| (name.to_owned(), json!(value)));
            self.out.envelope(Map::from_iter(members))
        } else {
            self.out.text(&format!("{name:<13} {detail}: {url}"))
        };
        // Without a reader of its output, the demonstration is still visible in the browser.
        if let Err(failure) = printed {
            self.out.note(&failure.message);
        }
    }

    /// Prints what a webhook reports, if it is part of the demonstration.
    fn happened(self, webhook: &GithubWebhook) {
        let body: Value = serde_json::from_str(&webhook.body).unwrap_or_default();
        let (name, what, on, made) = match (webhook.event.as_str(), body["action"].as_str()) {
            ("pull_request", Some("opened")) => {
                let pull = &body["pull_request"];
                ("pull request", "opened", pull, pull)
            }
            ("issue_comment", Some("created")) => {
                ("comment", "commented on", &body["issue"], &body["comment"])
            }
            _ => return,
        };
        let (number, url) = (&on["number"], &made["html_url"]);
        let login = body["sender"]["login"].as_str().unwrap_or_default();
        let detail = format!("{login} {what} #{number}");
        self.line(name, &detail, url.as_str().unwrap_or_default());
    }
}
