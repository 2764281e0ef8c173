//! Pages of the real host, with many rows.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use daemon_store::{Events as _, Matching, NewEvent};
use daemon_store_sqlite::SqliteStore;
use serde_json::json;

use super::store::{PAYLOAD, Steps, Until, accepted, cycles};
use crate::host::{BenchHome, BenchHost};
use crate::kit::Sample;
use crate::report::{Row, duration};

const N_LOADS: usize = 20;
const MOST_OF_ROSTER: f64 = 50e6;
const MOST_OF_PAGE: f64 = 100e6;
const N_REPOSITORIES: usize = 10;
const N_ROSTER: usize = 1_000;
// 29 February, so that no schedule is due during the measurement.
const SELDOM: &str = "0 9 29 2 *";
const AGENT: &str = "#!/bin/sh\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";
const N_CLIENTS: u64 = 64;
const N_EVENTS: u64 = 1_000_000;
const N_ACTIVATIONS: u64 = 100_000;
const BATCH: u64 = 256;
/// The pages that are loaded, in addition to those of an activation and an event.
const PAGES: [&str; 13] = [
    "/",
    "/activations",
    "/activations?daemon=d-3&state=succeeded",
    "/events",
    "/events?since=2026-01-01T00:00:00Z",
    "/runs",
    "/outputs",
    "/roster",
    "/schedule",
    "/ticks",
    "/usage",
    "/search?q=acme",
    "/search?q=nothing-has-this",
];
/// After its start a host catches up with what its store holds.
const SETTLE: Duration = Duration::from_secs(10);

/// The page of the roster with 1,000 rows.
pub(super) fn roster() -> Result<Row> {
    let world = BenchHome::new(N_REPOSITORIES, SELDOM)?;
    let host = world.serve()?;
    let browser = LoggedIn::new(&host)?;
    let rows = |page: &str| page.matches("data-row=").count();
    let begun = Instant::now();
    while rows(&browser.load("/roster")?.1) < N_ROSTER {
        ensure!(begun.elapsed() < SETTLE, "the roster has too few rows");
        std::thread::sleep(Duration::from_millis(100));
    }
    let (took, page) = browser.loads("/roster")?;
    host.stop()?;
    let ours = Sample::of("daemon-run", took);
    let median = ours.median;
    Ok(Row::new(
        "pages-roster",
        "the page of the roster with 1,000 rows, from the request to its last byte",
        &ours,
    )
    .must(
        format!("≤ {}", duration(MOST_OF_ROSTER)),
        duration(median),
        median <= MOST_OF_ROSTER,
    )
    .note(format!(
        "{} rows of a logged-in browser, {} KiB of HTML.",
        rows(&page),
        page.len() / 1024
    )))
}

/// Every page with a million events and a hundred thousand activations in the store.
pub(super) fn million() -> Result<Row> {
    let world = BenchHome::bare(AGENT)?;
    fill(&world)?;
    let host = world.serve()?;
    std::thread::sleep(SETTLE);
    let browser = LoggedIn::new(&host)?;
    let mut pages: Vec<String> = PAGES.map(str::to_owned).to_vec();
    for list in ["/activations", "/events"] {
        let (_, page) = browser.load(list)?;
        let link = page.split(&format!("href=\"{list}/")).nth(1);
        let id = link.and_then(|link| link.split('"').next());
        pages.push(format!("{list}/{}", id.context("a list has a row")?));
    }
    let mut slowest: Option<Sample> = None;
    let mut all = Vec::new();
    for path in &pages {
        let (took, _) = browser.loads(path)?;
        let sample = Sample::of("the slowest page", took);
        let kind = path.split(['?', '0']).next().unwrap_or(path);
        all.push(format!("`{kind}` {}", duration(sample.median)));
        if slowest
            .as_ref()
            .is_none_or(|known| sample.median > known.median)
        {
            slowest = Some(sample);
        }
    }
    host.stop()?;
    let ours = slowest.context("there are pages")?;
    let median = ours.median;
    Ok(Row::new(
        "pages-1m",
        "the slowest page with 1,000,000 events and 100,000 activations in the store",
        &ours,
    )
    .must(
        format!("≤ {}", duration(MOST_OF_PAGE)),
        duration(median),
        median <= MOST_OF_PAGE,
    )
    .note(format!("Medians of {N_LOADS} loads: {}.", all.join(", "))))
}

/// Stores a hundred thousand activations with their events, and further events.
fn fill(world: &BenchHome) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(world.store_file())?);
        let until = Until::Done(N_ACTIVATIONS);
        cycles(&store, N_CLIENTS, (Steps::Joined, until)).await?;
        for first in (N_ACTIVATIONS + 1_000..N_ACTIVATIONS + N_EVENTS).step_by(BATCH.try_into()?) {
            let last = (first + BATCH).min(N_ACTIVATIONS + N_EVENTS);
            let events: Result<Vec<_>> = (first..last).map(pull_request).collect();
            store.accept(events?).await?;
        }
        Ok(())
    })
}

/// Returns an event that is matched already, with a subject, an actor and a title.
fn pull_request(n: u64) -> Result<NewEvent> {
    let mut new = accepted(n)?;
    let number = n % 5_000;
    new.matching = Matching::Done;
    new.event.kind = "pull_request".to_owned();
    new.event.action = Some("opened".to_owned());
    new.event.subject = Some(format!("github:o/r#{number}").parse()?);
    let payload = json!({"pull_request": {
        "number": number, "title": format!("Change {n}"), "body": "x".repeat(PAYLOAD - 200),
        "html_url": format!("https://github.example/o/r/pull/{number}"),
    }});
    new.event.payload = payload.to_string().into_bytes().into();
    Ok(new)
}

/// A browser that has followed the link to log in.
struct LoggedIn<'h> {
    host: &'h BenchHost,
    cookie: String,
}

impl<'h> LoggedIn<'h> {
    fn new(host: &'h BenchHost) -> Result<Self> {
        let mut browser = Self {
            host,
            cookie: String::new(),
        };
        let (head, _) = browser.get(host.login()?)?;
        let cookie = head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "))
            .and_then(|line| line.split(';').next());
        browser.cookie = cookie.context("the link logs in")?.to_owned();
        Ok(browser)
    }

    /// Returns the times of a few loads of a page, and the page.
    fn loads(&self, path: &str) -> Result<(Vec<f64>, String)> {
        let (_, page) = self.load(path)?;
        let took: Result<Vec<f64>> = (0..N_LOADS).map(|_| Ok(self.load(path)?.0)).collect();
        Ok((took?, page))
    }

    /// Returns how long a page took in nanoseconds, and the page.
    fn load(&self, path: &str) -> Result<(f64, String)> {
        let begun = Instant::now();
        let (head, body) = self.get(path)?;
        let took = begun.elapsed().as_secs_f64() * 1e9;
        ensure!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        Ok((took, body))
    }

    /// Returns the head and the body of an answer.
    fn get(&self, path: &str) -> Result<(String, String)> {
        let address = self.host.address()?;
        let mut stream = TcpStream::connect(address)?;
        let cookie = &self.cookie;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/html\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .context("an answer has a head")?;
        Ok((head.to_owned(), body.to_owned()))
    }
}
