//! A headless browser, driven as people drive theirs.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http;
use crate::world::{Host, cleared, end, eventually};

/// A browser with one window; it ends with the test.
pub(crate) struct Browser {
    driver: Child,
    address: String,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser. Without one, prints the line that counts the test as skipped.
    #[expect(
        clippy::print_stdout,
        reason = "the runner counts what is skipped from this line"
    )]
    pub(crate) fn start() -> Option<Self> {
        let is_there = |program: &str| {
            let mut command = cleared(program);
            command
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        for program in ["chromium", "chromedriver"] {
            if !is_there(program) {
                println!("skipped: there is no `{program}`");
                return None;
            }
        }
        let profile = tempfile::tempdir().expect("a scratch directory");
        let (driver, address) = start_driver(cleared("chromedriver").env("HOME", profile.path()));
        let mut browser = Self {
            driver,
            address,
            session: String::new(),
            _profile: profile,
        };
        let folder = browser._profile.path().join("profile");
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--window-size=1280,900",
            &format!("--user-data-dir={}", folder.display()),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let made = browser.ask("POST", "/session", &wanted);
        browser.session = made["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let headers = [("Content-Type", "application/json; charset=utf-8")];
        let body = if method == "POST" {
            body.to_string()
        } else {
            String::new()
        };
        let answer = http::ask(&self.address, method, path, &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        answer.json()["value"].take()
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, &format!("/session/{}/{path}", self.session), body)
    }

    /// Logs in by the link that the host printed.
    pub(crate) fn log_in(&self, host: &Host) {
        self.open(host.ready["login_url"].as_str().expect("a link"));
    }

    /// Opens a page of a host.
    pub(crate) fn visit(&self, host: &Host, path: &str) {
        self.open(&format!(
            "{}{path}",
            host.ready["http"].as_str().expect("a URL")
        ));
    }

    fn open(&self, url: &str) {
        self.command("POST", "url", &json!({"url": url}));
    }

    /// Returns where the browser is.
    pub(crate) fn url(&self) -> String {
        let url = self.command("GET", "url", &Value::Null);
        url.as_str().expect("it is text").to_owned()
    }

    /// Evaluates an expression in the page.
    pub(crate) fn value(&self, expression: &str) -> Value {
        let script = json!({"script": format!("return {expression};"), "args": []});
        self.command("POST", "execute/sync", &script)
    }

    /// Returns the text of the page as a person sees it.
    pub(crate) fn text(&self) -> String {
        let text = self.value("document.body.innerText");
        text.as_str().expect("it is text").to_owned()
    }

    /// Waits until the page contains a string.
    pub(crate) fn shows(&self, wanted: &str) {
        eventually(&format!("the page shows `{wanted}`"), || {
            self.text().contains(wanted).then_some(())
        });
    }

    /// Clicks the first element that a selector finds, as a person does.
    pub(crate) fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.command("POST", &format!("element/{element}/click"), &json!({}));
    }

    /// Writes into a field.
    pub(crate) fn fill(&self, name: &str, text: &str) {
        self.fill_in(&format!("main [name='{name}']"), text);
    }

    /// Writes into the element that a selector finds.
    pub(crate) fn fill_in(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        let text = json!({"text": text});
        self.command("POST", &format!("element/{element}/value"), &text);
    }

    /// Runs statements in the page.
    pub(crate) fn run(&self, statements: &str) {
        let script = json!({"script": statements, "args": []});
        self.command("POST", "execute/sync", &script);
    }

    /// Runs statements in the page which pass their result to `done`.
    pub(crate) fn later(&self, statements: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1];\n{statements};");
        self.command(
            "POST",
            "execute/async",
            &json!({"script": script, "args": []}),
        )
    }

    fn element(&self, selector: &str) -> String {
        let query = json!({"using": "css selector", "value": selector});
        let found = self.command("POST", "element", &query);
        let id = found.as_object().and_then(|found| found.values().next());
        let id = id.and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("no `{selector}`")).to_owned()
    }

    /// Sends the browser a command of its emulation protocol.
    pub(crate) fn pretend(&self, what: &str, params: &Value) {
        let command = json!({"cmd": what, "params": params});
        self.command("POST", "goog/cdp/execute", &command);
    }

    /// Returns what went wrong in the page.
    pub(crate) fn complaints(&self) -> Vec<Value> {
        let log = self.command("POST", "se/log", &json!({"type": "browser"}));
        log.as_array().cloned().unwrap_or_default()
    }

    /// Writes a picture of the page, with the height of what is on it, to `docs/images`, if `UPDATE_IMAGES` is set.
    pub(crate) fn update_image(&self, name: &str, width: u32) {
        if std::env::var_os("UPDATE_IMAGES").is_none() {
            return;
        }
        self.pretend("Emulation.setScrollbarsHidden", &json!({"hidden": true}));
        let main = "document.body.lastElementChild.getBoundingClientRect().bottom";
        let height = self.value(main).as_f64().expect("a number").ceil() + 24.0;
        self.pretend(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        let encoded = self.command("GET", "screenshot", &Value::Null);
        let encoded = encoded.as_str().expect("it is text");
        let picture = STANDARD.decode(encoded).expect("it is base64");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images");
        std::fs::write(format!("{folder}/{name}.png"), picture).expect("the picture is written");
    }

    /// Presses a key as often as asked.
    pub(crate) fn press(&self, key: &str, times: usize) {
        let one = [
            json!({"type": "keyDown", "value": key}),
            json!({"type": "keyUp", "value": key}),
        ];
        let keys: Vec<Value> = one.iter().cycle().take(2 * times).cloned().collect();
        let actions = json!({"actions": [{"type": "key", "id": "keyboard", "actions": keys}]});
        self.command("POST", "actions", &actions);
    }
}

/// Writes a picture of the page at a URL to `docs/images`, if `UPDATE_IMAGES` is set.
pub(crate) fn update_image(name: &str, url: &str) {
    if std::env::var_os("UPDATE_IMAGES").is_none() {
        return;
    }
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(url);
    browser.update_image(name, 960);
}

/// Starts the driver on a free port, and returns its address.
#[expect(
    clippy::zombie_processes,
    reason = "its owner waits for it; a test whose driver tells nothing fails"
)]
fn start_driver(command: &mut Command) -> (Child, String) {
    let mut driver = command
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the driver starts");
    let mut told = BufReader::new(driver.stdout.take().expect("it is piped"));
    let mut line = String::new();
    loop {
        line.clear();
        let n = told.read_line(&mut line).expect("its output is text");
        assert_ne!(n, 0, "the driver told no port");
        let port = line
            .rsplit_once("on port ")
            .map(|(_, port)| port.trim().trim_end_matches('.'));
        if let Some(port) = port
            .and_then(|port| port.parse::<u16>().ok())
            .filter(|port| *port > 0)
        {
            return (driver, format!("127.0.0.1:{port}"));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            let request = format!(
                "DELETE {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                self.address
            );
            // A browser that is gone has nothing to end.
            http::try_raw(&self.address, request.as_bytes());
        }
        end(&mut self.driver);
    }
}
