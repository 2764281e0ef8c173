//! The pages in a real browser.

use std::fs;

use serde_json::json;

use crate::browser::Browser;
use crate::fields::Shown as _;
use crate::world::{World, until};

/// What a run says that wants to be more than text.
const HOSTILE: &str = "<script>window.pwned=1</script></pre></main><img src=x onerror=window.pwned=2>\\033[31mred \\342\\200\\256txt";

#[test]
fn a_browser_follows_a_run_to_its_end_and_executes_none_of_its_output() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let world = World::pushed();
    let gate = world.beside("gate");
    world.script(&format!(
        "cat > /dev/null\nprintf '{HOSTILE} before\\n'\nwhile ! [ -e {0}.1 ]; do sleep 0.05; done\nprintf '{HOSTILE} live\\n'\n\
         echo '{{\"daemon\":\"tool_start\",\"id\":\"1\",\"name\":\"<b>grep\",\"args\":{{}}}}'\n\
         while ! [ -e {0}.2 ]; do sleep 0.05; done\nprintf '{HOSTILE} result\\n'\n",
        gate.display()
    ));
    world.unconfined();
    let host = world.serve();
    browser.log_in(&host);
    assert!(
        browser.url().ends_with(&format!("{}/", host.address())),
        "{}",
        browser.url()
    );
    let id = world.dispatch(&["look around"])[0].clone();
    browser.visit(&host, &format!("/runs/{id}"));
    browser.shows("txt before");
    browser.shows("Live.");
    fs::write(format!("{}.1", gate.display()), "").expect("it goes on");
    browser.shows("txt live");
    browser.shows("<b>grep");
    let seen = "red ⟨U+202E⟩txt live";
    let output = browser.value("document.getElementById('output').lastElementChild.textContent");
    assert_eq!(
        output.as_str().map(str::trim_end),
        Some(format!("<script>window.pwned=1</script></pre></main><img src=x onerror=window.pwned=2>{seen}").as_str())
    );
    until("the page tells the tool in use", || {
        let tool =
            browser.value("document.querySelector('[data-member=current_tool]').textContent");
        tool == "<b>grep"
    });
    fs::write(format!("{}.2", gate.display()), "").expect("it ends");
    browser.shows("daemon done");
    browser.shows("Result");
    assert_eq!(
        browser.value("document.querySelector('[data-follow]')"),
        json!(null)
    );
    let active = "[window.pwned ?? null, document.scripts.length, document.images.length]";
    assert_eq!(browser.value(active), json!([null, 1, 0]));
    assert_eq!(browser.complaints(), [json!(null); 0]);
}

#[test]
fn a_page_is_whole_without_scripts_and_reloads_itself() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let world = World::pushed();
    let gate = world.beside("gate");
    world.script(&format!(
        "cat > /dev/null\necho begun\nwhile ! [ -e {} ]; do sleep 0.05; done\n",
        gate.display()
    ));
    world.unconfined();
    let host = world.serve();
    browser.log_in(&host);
    browser.pretend(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": true}),
    );
    let id = world.dispatch(&["look around"])[0].clone();
    browser.visit(&host, &format!("/runs/{id}"));
    browser.shows("this page reloads every few seconds");
    browser.shows("begun");
    fs::write(gate, "").expect("it ends");
    browser.shows("✓ done");
}

#[test]
fn a_page_fits_a_phone_and_is_used_by_keyboard_in_light_and_dark() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let (world, host) = World::serving();
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
    let id = host.list("runs")[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    browser.log_in(&host);
    let phone = json!({"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true});
    browser.pretend("Emulation.setDeviceMetricsOverride", &phone);
    let run = format!("/runs/{id}");
    let activation = host.list("activations")[0].text("id");
    let activation = format!("/activations/{activation}");
    let pages = [
        "/",
        "/runs",
        "/activations",
        "/events",
        "/ticks",
        "/outputs",
        "/schedule",
        "/usage",
        "/search?q=pusher",
        "/agents",
        "/conversations",
        "/crons",
        "/subscriptions",
        "/mcp-servers",
        "/daemons/pusher",
        &run,
        &activation,
    ];
    for path in pages {
        browser.visit(&host, path);
        let width = browser.value("document.documentElement.scrollWidth");
        assert_eq!(width, 360, "{path} is as wide as the phone");
    }
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.pretend("Emulation.setEmulatedMedia", &media);
        grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert_eq!(grounds, ["rgb(255, 255, 255)", "rgb(18, 21, 26)"]);
    // Tab shows the way past the menu, and Enter takes it.
    browser.press("\u{e004}", 1);
    assert_eq!(browser.value("document.activeElement.className"), "skip");
    browser.press("\u{e007}", 1);
    assert!(browser.url().ends_with("#main"), "{}", browser.url());
}
