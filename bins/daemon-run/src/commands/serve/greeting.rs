//! What `serve` prints on a terminal when the host is ready.

use daemon_event::{RepoName, Source};
use daemon_host::config::Config;
use daemon_host::serve::Ready;
use daemon_records::clock;
use daemon_registry::Registered;
use jiff::Timestamp;

use crate::commands::init::agents;
use crate::commands::listings::error_lines;
use crate::out::{Out, plain, put};
use crate::place::Place;
use daemon_view::Times;

/// The most ticks that are listed.
const TICKS: usize = 3;
/// The sources whose webhooks a host can verify.
const SOURCES: [Source; 4] = [
    Source::Github,
    Source::Linear,
    Source::Slack,
    Source::Sentry,
];

/// Formats what the host watches, where its pages are, what wakes next, and what it does not do.
pub(super) fn text(ready: &Ready, config: &Config, place: &Place, out: Out) -> String {
    let found = agents(place);
    let found: Vec<&str> = found.iter().map(|agent| agent.name).collect();
    let mut greeting = Greeting(String::new());
    greeting.watched(ready);
    greeting.daemons(ready);
    greeting.ticks(ready, clock::now(), &out.times());
    greeting.model(config, &found);
    greeting.services(config);
    greeting.line("page", &ready.login_url);
    greeting.line("", "the link works once; `daemon-run login` prints another");
    greeting.line("stop", "ctrl-c");
    greeting.0
}

/// Lines with a name each.
struct Greeting(String);

impl Greeting {
    fn line(&mut self, name: &str, text: &str) {
        put!(self.0, "{name:<10} {}\n", plain(text));
    }

    fn watched(&mut self, ready: &Ready) {
        let names: Vec<&str> = ready.repos.iter().map(RepoName::as_str).collect();
        match names.is_empty() {
            true => self.line(
                "watches",
                "no repository: use --repo DIR, or add [[repo]] to config.toml",
            ),
            false => self.line("watches", &names.join(", ")),
        }
        for (repo, problem) in &ready.unread {
            self.line("", &format!("`{repo}` is not read yet: {problem}"));
        }
    }

    fn daemons(&mut self, ready: &Ready) {
        let of = |is_valid: bool| {
            let all = ready.registry.iter();
            let some = all.filter(|daemon| daemon.is_valid() == is_valid);
            some.collect::<Vec<_>>()
        };
        let names = of(true);
        let names = names.iter().map(|daemon| daemon.row.key.id.as_str());
        let names: Vec<&str> = names.collect();
        match names.is_empty() {
            true => self.line(
                "daemons",
                "none; `daemon-run new --list` lists complete ones",
            ),
            false => self.line("daemons", &names.join(", ")),
        }
        for invalid in of(false) {
            let row = &invalid.row;
            let diagnostics = serde_json::from_str(&row.diagnostics).unwrap_or_default();
            for line in error_lines(&row.path, &diagnostics) {
                self.line("invalid", &line);
            }
        }
    }

    fn ticks(&mut self, ready: &Ready, now: Timestamp, times: &Times) {
        let due = |daemon: &Registered| Some((daemon.next_after(now)?, daemon.row.key.id.clone()));
        let ticks = ready.registry.iter().filter_map(|daemon| due(daemon));
        let mut ticks: Vec<_> = ticks.collect();
        ticks.sort_unstable();
        for (at, id) in ticks.iter().take(TICKS) {
            self.line("next tick", &format!("{id} {}", times.long(*at)));
        }
    }

    fn model(&mut self, config: &Config, found: &[&str]) {
        let default = &config.provider.default;
        match (config.has_model(), found) {
            (true, _) => self.line("provider", default),
            (false, []) => self.line("no model", "`builtin` carries no routine out; no coding agent is found on PATH"),
            (false, found) => self.line(
                "no model",
                &format!(
                    "`builtin` carries no routine out; found {}: set provider.default in config.toml",
                    found.join(", ")
                ),
            ),
        }
    }

    /// Adds where outputs are delivered, and from where no event comes.
    fn services(&mut self, config: &Config) {
        let surfaces = &config.surfaces;
        let services = [
            ("github", surfaces.github.is_some()),
            ("linear", surfaces.linear.is_some()),
            ("slack", surfaces.slack.is_some()),
        ];
        let used = services.iter().filter(|(_, is_used)| *is_used);
        let used: Vec<&str> = used.map(|(name, _)| *name).collect();
        match used.is_empty() {
            true => self.line(
                "outputs",
                "branches only: no [surfaces.github], [surfaces.linear] or [surfaces.slack]",
            ),
            false => self.line("outputs", &format!("branches, {}", used.join(", "))),
        }
        let received = SOURCES
            .into_iter()
            .filter(|source| config.sources.receive(*source));
        let received: Vec<&str> = received.map(Source::as_str).collect();
        match received.is_empty() {
            true => self.line(
                "webhooks",
                "none: no source has a secret, such as sources.github.secret_file",
            ),
            false => self.line("webhooks", &received.join(", ")),
        }
    }
}
