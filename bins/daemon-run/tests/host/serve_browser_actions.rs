//! Actions and live lists in a real browser, with scripts and without.

use serde_json::json;

use crate::browser::Browser;
use crate::fields::Shown as _;
use crate::serve_roster::Agent;
use crate::world::{Host, World, until};

/// Logs in with the token, as a person does who has no link.
fn log_in_by_form(browser: &Browser, host: &Host) {
    browser.visit(host, "/login");
    browser.fill("token", host.token());
    browser.click("main form button");
    browser.shows("Running now");
    // The page with the form is the answer of a request without a login.
    assert_eq!(browser.complaints().len(), 1);
}

#[test]
fn a_browser_holds_a_daemon_and_is_sent_to_the_result() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let (world, host) = World::serving();
    let (_agent, row) = Agent::register(&host, 1, "<img src=x onerror=window.pwned=1>");
    assert_eq!(world.json(&["roster", "go", &row]).0, 0);
    log_in_by_form(&browser, &host);
    for are_scripts_off in [false, true] {
        let off = json!({"value": are_scripts_off});
        browser.pretend("Emulation.setScriptExecutionDisabled", &off);
        browser.visit(&host, &format!("/roster/{row}"));
        browser.click("a[href$='/hold']");
        browser.shows("Its work loop stops");
        browser.fill("reason", "a test <b>of</b> forms");
        browser.click("form.act button");
        browser.shows("Its gate is on hold.");
        let (_, shown) = world.json(&["roster", "show", &row]);
        assert_eq!(shown.text("row.gate"), "hold");
        // Without a confirmation, from the page itself.
        browser.fill("line", "look here");
        browser.click("form[action$='/poke'] button");
        browser.shows("The line is queued.");
        assert_eq!(world.json(&["roster", "go", &row]).0, 0);
    }
    let off = json!({"value": false});
    browser.pretend("Emulation.setScriptExecutionDisabled", &off);
    assert_eq!(browser.value("window.pwned ?? null"), json!(null));
    assert_eq!(browser.complaints(), [json!(null); 0]);
}

#[test]
fn an_open_list_shows_new_and_changed_rows_and_stays_where_it_is() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let (world, host) = World::serving();
    let (_agent, row) = Agent::register(&host, 1, "digger");
    browser.log_in(&host);
    browser.visit(&host, "/roster");
    browser.shows("Live.");
    let link = format!("tr[data-row='{row}'] td:last-child a");
    browser.value(&format!(
        "(window.same = 1, document.querySelector(\"{link}\").focus())"
    ));
    assert_eq!(world.json(&["roster", "go", &row]).0, 0);
    let action = format!("document.querySelector(\"{link}\").textContent");
    until("the row has changed", || browser.value(&action) == "Hold");
    let (_other, other) = Agent::register(&host, 2, "poet");
    let there = format!("document.querySelector(\"tr[data-row='{other}']\") !== null");
    until("the row has appeared", || browser.value(&there) == true);
    // The first link of a row is its name, which stays under the focus.
    browser.value(&format!(
        "document.querySelector(\"tr[data-row='{row}'] a\").focus()"
    ));
    assert_eq!(world.json(&["roster", "hold", &row]).0, 0);
    until("the row has changed again", || {
        browser.value(&action) == "Go"
    });
    let focused = browser.value("document.activeElement.textContent");
    assert_eq!(
        (focused, browser.value("window.same")),
        (json!("digger"), json!(1))
    );
    // A list that was empty gets its table.
    browser.visit(&host, "/activations");
    browser.shows("No activations");
    browser.shows("Live.");
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
    browser.shows("succeeded");
    assert_eq!(browser.complaints(), [json!(null); 0]);
}
