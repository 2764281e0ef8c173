//! Every page in a real browser: checked by an accessibility engine, used by keyboard, and timed with many rows.

use std::fs;
use std::time::{Duration, Instant};

use daemon_fakes::Reply;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::conversing::{api, call, world};
use crate::fields::Shown as _;
use crate::serve_roster::Agent;
use crate::world::{Host, World, cleared, until, watch};

/// The accessibility engine, from the registry of npm.
const ENGINE: &str = "axe-core@4.10.2";

/// Fetches the engine. Where npm does not reach its registry, prints the line that counts the test as skipped.
#[expect(
    clippy::print_stdout,
    reason = "the runner counts what is skipped from this line"
)]
fn engine() -> Option<String> {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let mut npm = cleared("npm");
    npm.current_dir(scratch.path())
        .env("HOME", std::env::var_os("HOME").unwrap_or_default())
        .args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            ENGINE,
        ]);
    let is_installed = npm.output().is_ok_and(|output| output.status.success());
    if !is_installed {
        println!("skipped: npm does not install `{ENGINE}`");
        return None;
    }
    let path = scratch.path().join("node_modules/axe-core/axe.min.js");
    Some(fs::read_to_string(path).expect("the engine"))
}

/// Makes a host on which each page has something to show, and returns the paths of its pages.
fn inhabited() -> (World, Host, Agent, Vec<String>) {
    let world = World::new(&[
        ("pusher", &watch(&["when a commit is pushed to main"])),
        ("nightly", "schedule: \"0 3 * * *\""),
        ("often", "schedule: \"*/5 * * * *\""),
        ("broken", "schedule: \"0 0 9 * * 1\""),
    ]);
    world.script(
        "cat > /dev/null\nprintf '\\033[32mgreen\\033[0m and \\033[1;31mred\\033[0m\\n'\necho wrong >&2\necho x >> NOTE.md\n\
         echo '{\"daemon\":\"tool_start\",\"id\":\"1\",\"name\":\"grep\",\"args\":{\"pattern\":\"x\"}}'\n\
         echo found\necho '{\"daemon\":\"tool_end\",\"id\":\"1\",\"ok\":true}'\n\
         echo '{\"daemon\":\"usage\",\"input\":1200,\"output\":80}'\n\
         echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"all is well\"}'\n",
    );
    let host = world.serve();
    world.commit("wake it");
    host.settled(1);
    until("its output is delivered", || {
        host.list("outputs")
            .first()
            .is_some_and(|output| output["state"] == "confirmed")
    });
    let (agent, row) = Agent::register(&host, 1, "digger");
    let first =
        |plural: &str, member: &str| format!("/{plural}/{}", host.list(plural)[0].text(member));
    let mut pages: Vec<String> = [
        "/",
        "/roster",
        "/roster/spawn",
        "/activations",
        "/runs",
        "/outputs",
        "/events",
        "/schedule",
        "/usage",
        "/ticks",
        "/agents",
        "/conversations",
        "/crons",
        "/subscriptions",
        "/mcp-servers",
        "/search?q=pusher",
        "/search",
        "/daemons/pusher",
        "/daemons/broken",
        "/nowhere",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.push(first("activations", "id"));
    pages.push(format!("{}/retry", first("activations", "id")));
    pages.push(first("runs", "id"));
    pages.push(first("outputs", "key"));
    pages.push(first("events", "id"));
    pages.push(format!("/roster/{row}"));
    pages.push(format!("/roster/{row}/go"));
    (world, host, agent, pages)
}

/// Returns what the engine finds in the page: the rule, and the first element.
fn findings(browser: &Browser, engine: &str) -> Vec<Value> {
    browser.run(engine);
    let found = browser.later(
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map((one) => \
         [one.id, one.nodes[0].html, one.nodes[0].failureSummary])).then(done, (error) => done([String(error)]))",
    );
    found.as_array().cloned().unwrap_or_default()
}

#[test]
fn an_accessibility_engine_finds_nothing_on_any_page_in_light_and_dark_wide_and_narrow() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let Some(engine) = engine() else {
        return;
    };
    let (_world, host, _agent, pages) = inhabited();
    browser.visit(&host, "/login");
    assert_eq!(findings(&browser, &engine), [json!(null); 0], "the login");
    accessible((&browser, &engine), &host, &pages);
    let api = api([
        Reply::call("list", json!({"path": "."})),
        Reply::text("Nothing is here."),
    ]);
    let world = world(&api, "");
    let talking = world.serve();
    call(
        &talking,
        "conversation/send",
        &json!({"content": "What is here?"}),
    );
    let pages = ["/conversations", "/conversation?agent=scout&sender=t"].map(str::to_owned);
    accessible((&browser, &engine), &talking, &pages);
}

/// Asserts that the engine finds nothing on some pages of a host in light and dark, wide and narrow, and that none is too wide.
fn accessible((browser, engine): (&Browser, &str), host: &Host, pages: &[String]) {
    browser.log_in(host);
    for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 390)] {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.pretend("Emulation.setEmulatedMedia", &media);
        let size =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 1000});
        browser.pretend("Emulation.setDeviceMetricsOverride", &size);
        for path in pages {
            browser.visit(host, path);
            let found = findings(browser, engine);
            assert_eq!(found, [json!(null); 0], "{path}, {scheme}, {width} px");
            let over =
                browser.value("Math.max(0, document.documentElement.scrollWidth - innerWidth)");
            assert_eq!(over, 0, "{path} is wider than {width} px");
            let inner = browser.value("Math.max(0, ...[...document.querySelectorAll('.wide')].map((box) => box.scrollWidth - box.clientWidth))");
            assert_eq!(inner, 0, "a table of {path} is wider than {width} px");
        }
    }
}

/// Writes the pictures of `docs/pages.md`, when they are updated.
fn update_images(browser: &Browser, host: &Host, run: &str) {
    let events = host.list("events");
    let pushed = events.iter().find(|event| event["kind"] == "push");
    let event = format!("/events/{}", pushed.expect("the push").text("id"));
    for (name, path) in [
        ("pages-run", run),
        ("pages-event", &event),
        ("pages-daemon", "/daemons/pusher"),
        ("pages-roster", "/roster"),
    ] {
        browser.visit(host, path);
        browser.update_image(name, 1280);
    }
}

#[test]
fn every_page_is_whole_without_scripts() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let (_world, host, _agent, pages) = inhabited();
    browser.log_in(&host);
    let off = json!({"value": true});
    browser.pretend("Emulation.setScriptExecutionDisabled", &off);
    for path in pages.iter().filter(|path| *path != "/nowhere") {
        browser.visit(&host, path);
        let heading = browser.value("document.querySelector('main h1')?.textContent ?? ''");
        assert_ne!(heading.as_str().map(str::trim), Some(""), "{path}");
        let text = browser.value("document.querySelector('main').innerText.length > 40");
        assert_eq!(text, true, "{path}");
    }
    // The search is a form.
    browser.visit(&host, "/");
    browser.fill_in(".search input", "pusher\u{e007}");
    browser.shows("Search for “pusher”");
}

#[test]
fn a_person_finds_an_activation_and_its_run_by_keyboard_alone() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let (_world, host, agent, _) = inhabited();
    browser.log_in(&host);
    let focused = || {
        browser.value("document.activeElement.getAttribute('href') ?? document.activeElement.name")
    };
    until("the search has the focus", || {
        browser.press("/", 1);
        focused() == "q"
    });
    browser.visit(&host, "/activations");
    browser.shows("pusher on");
    let activation = format!("/activations/{}", host.list("activations")[0].text("id"));
    browser.press("j", 1);
    assert_eq!(focused(), activation.as_str());
    browser.press("\u{e007}", 1);
    browser.shows("all is well");
    let run = format!("/runs/{}", host.list("runs")[0].text("id"));
    // Tab reaches the run.
    until("its run has the focus", || {
        browser.press("\u{e004}", 1);
        focused() == run.as_str()
    });
    browser.press("\u{e007}", 1);
    browser.shows("Timeline");
    assert_eq!(browser.complaints(), [json!(null); 0]);
    update_images(&browser, &host, &run);
    drop(agent);
}

/// The rows of the longest page of the roster.
const ROWS: usize = 1_000;

#[test]
fn a_roster_of_a_thousand_rows_is_served_and_painted_at_once() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let daemons: Vec<(String, String)> = (0..ROWS)
        .map(|n| {
            let id = format!("daemon-{n:04}");
            (id, format!("schedule: \"{} 3 * * 1\"", n % 60))
        })
        .collect();
    let daemons: Vec<(&str, &str)> = daemons
        .iter()
        .map(|(id, wakes)| (id.as_str(), wakes.as_str()))
        .collect();
    let world = World::new(&daemons);
    let host = world.serve();
    let rows = || host.page("/roster").body.matches("data-row=").count();
    until("all rows are there", || rows() >= ROWS);
    browser.log_in(&host);
    let (mut served, mut painted) = (Duration::MAX, f64::MAX);
    for _ in 0..5 {
        let begin = Instant::now();
        assert_eq!(host.page("/roster").status, 200);
        served = served.min(begin.elapsed());
        browser.visit(&host, "/roster");
        let paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null";
        until("it is painted", || browser.value(paint).is_number());
        painted = painted.min(browser.value(paint).as_f64().unwrap_or(f64::MAX));
    }
    // A program that is built for tests is not optimised; it must not be slower by more than that.
    let factor = if cfg!(debug_assertions) { 40 } else { 1 };
    assert!(
        served <= factor * Duration::from_millis(50),
        "served in {served:?}"
    );
    assert!(
        painted <= f64::from(factor) * 300.0,
        "painted after {painted} ms"
    );
}
