//! A session of an editor with the server, over the messages of the protocol.

use std::fs;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use daemon_cron::Zone;
use daemon_lsp::{LspError, Workspace, serve};
use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};

const TEXT: &str = "---\nid: tidy\npurpose: K\u{e9}eps \u{1f600} issues: tidy.\nwatch:\n  - when a pull request is opened by a bot\n  \
                    - when code quality is low\nschedule: \"0 30 14 * * 1-5\"\nroutines:\n  - label the issue\ndeny:\n  - close issues\n---\n\
                    # Limits\nSee [rules](references/rules.md).\n";

/// An editor with one daemon file.
struct Editor {
    connection: Connection,
    server: Option<JoinHandle<Result<(), LspError>>>,
    folder: tempfile::TempDir,
    n_requests: i32,
}

impl Editor {
    fn start(encodings: &Value) -> Self {
        let (connection, theirs) = Connection::memory();
        let server = std::thread::spawn(move || {
            serve(
                &theirs,
                &Workspace {
                    now: &|| "2026-11-20T09:00:00Z".parse().expect("an instant"),
                    zone: &|_root, _id| Zone::utc(),
                },
            )
        });
        let folder = tempfile::tempdir().expect("a folder");
        let daemon = folder.path().join(".agents/daemons/tidy");
        fs::create_dir_all(daemon.join("references")).expect("the daemon's directory");
        fs::write(daemon.join("references/rules.md"), "Rules.\n").expect("a support file");
        let mut editor = Self {
            connection,
            server: Some(server),
            folder,
            n_requests: 0,
        };
        let capabilities = json!({"general": {"positionEncodings": encodings}});
        editor.request("initialize", json!({"capabilities": capabilities}));
        editor.notify("initialized", json!({}));
        editor
    }

    fn uri(&self) -> String {
        let root = self.folder.path().display();
        format!("file://{root}/.agents/daemons/tidy/DAEMON.md")
    }

    fn notify(&self, method: &str, params: Value) {
        let note = Notification::new(method.to_owned(), params);
        self.connection.sender.send(note.into()).expect("it serves");
    }

    fn next(&self) -> Message {
        let receiver = &self.connection.receiver;
        receiver
            .recv_timeout(Duration::from_secs(60))
            .expect("an answer")
    }

    /// Returns the result of a request, after notifications that came before it.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.n_requests += 1;
        let id = RequestId::from(self.n_requests);
        let request = Request::new(id.clone(), method.to_owned(), params);
        self.connection
            .sender
            .send(request.into())
            .expect("it serves");
        loop {
            if let Message::Response(response) = self.next() {
                assert_eq!(response.id, id);
                return response
                    .response_result
                    .unwrap_or_else(|error| json!({"code": error.code, "message": error.message}));
            }
        }
    }

    /// Returns what was found in the newest version of the document.
    fn found(&self, version: i32) -> Vec<Value> {
        loop {
            if let Message::Notification(note) = self.next()
                && note.method == "textDocument/publishDiagnostics"
                && note.params["version"] == version
            {
                return note.params["diagnostics"]
                    .as_array()
                    .cloned()
                    .expect("a list");
            }
        }
    }

    fn open(&self, text: &str) -> Vec<Value> {
        let item = json!({"uri": self.uri(), "languageId": "markdown", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": item}));
        self.found(1)
    }

    fn change(&self, version: i32, text: &str) {
        let document = json!({"uri": self.uri(), "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        self.notify("textDocument/didChange", params);
    }

    /// Requests something at the first place where words are.
    fn at(&mut self, method: &str, text: &str, words: &str) -> Value {
        let params =
            json!({"textDocument": {"uri": self.uri()}, "position": position(text, words)});
        self.request(method, params)
    }

    fn end(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Value::Null);
        self.notify("exit", Value::Null);
        let server = self.server.take().expect("it runs");
        server.join().expect("no panic").expect("it ends");
    }
}

/// Returns the position behind the first letter of words, in UTF-16.
fn position(text: &str, words: &str) -> Value {
    let byte = text.find(words).expect("the text has the words") + 1;
    let line = text[..byte].matches('\n').count();
    let start = text[..byte].rfind('\n').map_or(0, |at| at + 1);
    json!({"line": line, "character": text[start..byte].encode_utf16().count()})
}

fn codes(found: &[Value]) -> Vec<&str> {
    found
        .iter()
        .filter_map(|one| one["code"].as_str())
        .collect()
}

#[test]
fn problems_are_shown_where_the_author_wrote_them_and_go_when_they_are_fixed() {
    let mut editor = Editor::start(&json!(["utf-16"]));
    let found = editor.open(TEXT);
    assert_eq!(codes(&found), ["D011", "D301", "D201"]);
    // Counted in UTF-16: the smiley has two units.
    assert_eq!(
        found[0]["range"],
        json!({"start": {"line": 2, "character": 9}, "end": {"line": 2, "character": 31}})
    );
    assert_eq!(found[2]["severity"], 1);
    let range = &found[2]["range"];
    let params = json!({"textDocument": {"uri": editor.uri()}, "range": range, "context": {"diagnostics": []}});
    let actions = editor.request("textDocument/codeAction", params);
    assert_eq!(actions[0]["kind"], "quickfix");
    assert_eq!(actions[0]["diagnostics"][0]["code"], "D201");
    let all = actions
        .as_array()
        .expect("a list")
        .last()
        .expect("an action");
    assert_eq!(all["kind"], "source.fixAll");
    let uri = editor.uri();
    let fixed = all["edit"]["changes"][&uri][0]["newText"]
        .as_str()
        .expect("a text");
    editor.change(2, fixed);
    assert_eq!(codes(&editor.found(2)), ["D301"]);
    editor.end();
}

#[test]
fn only_the_newest_of_changes_that_come_at_once_has_to_be_shown() {
    let editor = Editor::start(&json!(null));
    editor.open(TEXT);
    for version in 2..=200 {
        editor.change(version, &TEXT.replace("tidy.", &format!("tidy {version}.")));
    }
    editor.change(201, "---\nid: tidy\n---\n");
    assert_eq!(codes(&editor.found(201)), ["D120", "D134", "D400", "D420"]);
    editor.end();
}

#[test]
fn hover_shows_what_a_field_is_for_how_a_condition_is_read_and_when_a_schedule_is_due() {
    let mut editor = Editor::start(&json!(["utf-16"]));
    let text = TEXT.replace("0 30 14 * * 1-5", "30 14 * * 1-5");
    editor.open(&text);
    let mut shown = |words: &str| {
        let hover = editor.at("textDocument/hover", &text, words);
        hover["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        shown("purpose"),
        "One sentence that says what outcome the daemon exists to produce."
    );
    assert_eq!(
        shown("when a pull request is opened"),
        "**mapped**: wakes on\n- `github pull_request.opened` where `author_kind is bot`\n"
    );
    assert!(shown("when code quality").starts_with("**vague**"));
    assert_eq!(
        shown("30 14 *"),
        "at 14:30 on Monday through Friday\n\nnext in `UTC`:\n- Fri 2026-11-20 14:30\n- Mon 2026-11-23 14:30\n- Tue 2026-11-24 14:30\n\
         - Wed 2026-11-25 14:30\n- Thu 2026-11-26 14:30\n"
    );
    assert_eq!(shown("# Limits"), "");
    editor.end();
}

#[test]
fn completion_offers_missing_fields_conditions_and_schedules() {
    let mut editor = Editor::start(&json!(["utf-16"]));
    let text = "---\nid: tidy\nwatch:\n  - when a\nschedule: \nr\n---\n";
    editor.open(text);
    let mut labels = |line: u32, character: u32| -> Vec<String> {
        let at = json!({"line": line, "character": character});
        let params = json!({"textDocument": {"uri": editor.uri()}, "position": at});
        let items = editor.request("textDocument/completion", params);
        let items = items.as_array().cloned().unwrap_or_default();
        let label = |item: &Value| item["label"].as_str().unwrap_or_default().to_owned();
        items.iter().map(label).collect()
    };
    assert_eq!(labels(5, 1), ["purpose", "routines", "deny"]);
    let conditions = labels(3, 10);
    assert!(conditions.contains(&"when a pull request is opened".to_owned()));
    assert_eq!(labels(4, 10)[0], "\"0 9 * * 1-5\"");
    assert_eq!(labels(1, 3), Vec::<String>::new());
    assert_eq!(labels(99, 0), Vec::<String>::new());
    editor.end();
}

#[test]
fn the_outline_has_fields_and_headings_and_links_lead_to_support_files() {
    let mut editor = Editor::start(&json!(["utf-8"]));
    editor.open(TEXT);
    let params = json!({"textDocument": {"uri": editor.uri()}});
    let symbols = editor.request("textDocument/documentSymbol", params);
    let names: Vec<&str> = symbols
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|symbol| symbol["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "id", "purpose", "watch", "schedule", "routines", "deny", "Limits"
        ]
    );
    assert_eq!(
        symbols[2]["children"][1]["name"],
        "when code quality is low"
    );
    let found = editor.at("textDocument/definition", TEXT, "rules.md");
    let uri = editor.uri().replace("DAEMON.md", "references/rules.md");
    assert_eq!(found["uri"], json!(uri));
    editor.end();
}

#[test]
fn links_out_of_the_directory_lead_nowhere() {
    let mut editor = Editor::start(&json!(["utf-16"]));
    let directory = editor.folder.path().join(".agents/daemons/tidy");
    fs::write(editor.folder.path().join(".agents/daemons/secret.md"), "x").expect("a file");
    std::os::unix::fs::symlink(Path::new("../secret.md"), directory.join("link.md"))
        .expect("a link");
    let text = "---\nid: tidy\n---\n[a](../secret.md) [b](link.md) [c](missing.md) `..`\n";
    editor.open(text);
    for words in ["../secret", "link.md", "missing", "`..`"] {
        assert_eq!(
            editor.at("textDocument/definition", text, words),
            Value::Null,
            "{words}"
        );
    }
    editor.end();
}

#[test]
fn what_is_not_understood_has_an_error_and_the_session_goes_on() {
    let mut editor = Editor::start(&json!(["utf-16"]));
    assert_eq!(
        editor.request("textDocument/rename", json!({}))["code"],
        -32601
    );
    assert_eq!(
        editor.request("textDocument/hover", json!([1]))["code"],
        -32602
    );
    editor.notify("textDocument/didOpen", json!({"wrong": true}));
    editor.change(7, "not open");
    let elsewhere = json!({"textDocument": {"uri": "untitled:Untitled-1"}, "position": {"line": 0, "character": 0}});
    assert_eq!(editor.request("textDocument/hover", elsewhere), Value::Null);
    assert!(!editor.open(TEXT).is_empty());
    editor.end();
}
