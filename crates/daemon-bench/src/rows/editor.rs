//! The language server: from a change of a file to its diagnostics.

use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use daemon_cron::Zone;
use daemon_lsp::{LspError, Workspace, serve};
use jiff::Timestamp;
use lsp_server::{Connection, Message, Notification, Request};
use serde_json::{Value, json};

use crate::fixtures;
use crate::kit::Sample;
use crate::report::{Row, duration};

/// The size of the file in bytes.
const SIZE: usize = 64 * 1024;
const N_CHANGES: i32 = 400;
/// In nanoseconds.
const MOST_P95: f64 = 30e6;
const URI: &str = "file:///repository/.agents/daemons/daemon/DAEMON.md";

pub(super) fn measure() -> Result<Row> {
    let file = fixtures::daemon_files()?;
    let file = file.first().context("there are daemon files")?;
    let mut text = fixtures::with_id(std::str::from_utf8(file)?, "daemon")?;
    while text.len() < SIZE {
        text.push_str("- The pages in `docs/` keep their links, and say why a link was changed.\n");
    }
    let editor = Editor::open(&text)?;
    let mut times = Vec::new();
    for version in 2..2 + N_CHANGES {
        let changed = text.replacen("routines:", &format!("routines:\n  - do task {version}"), 1);
        let begun = Instant::now();
        editor.change(version, &changed)?;
        times.push(begun.elapsed().as_secs_f64() * 1e9);
    }
    editor.end()?;
    times.sort_by(f64::total_cmp);
    let p95 = times[times.len() * 95 / 100];
    let ours = Sample::of("daemon-lsp", times);
    Ok(Row::new(
        "editor",
        "from a change of a daemon file of 64 KiB to its diagnostics in the editor",
        &ours,
    )
    .must("p95 ≤ 30 ms".to_owned(), duration(p95), p95 <= MOST_P95))
}

/// An editor with one open file, connected in memory.
struct Editor {
    connection: Connection,
    server: JoinHandle<Result<(), LspError>>,
}

impl Editor {
    fn open(text: &str) -> Result<Self> {
        let (connection, theirs) = Connection::memory();
        let server = std::thread::spawn(move || {
            let workspace = Workspace {
                now: &Timestamp::now,
                zone: &|_root, _id| Zone::utc(),
            };
            serve(&theirs, &workspace)
        });
        let editor = Self { connection, server };
        editor.request(1, "initialize", json!({"capabilities": {}}))?;
        editor.notify("initialized", json!({}))?;
        let item = json!({"uri": URI, "languageId": "markdown", "version": 1, "text": text});
        editor.notify("textDocument/didOpen", json!({"textDocument": item}))?;
        editor.found(1)?;
        Ok(editor)
    }

    fn change(&self, version: i32, text: &str) -> Result<()> {
        let document = json!({"uri": URI, "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        self.notify("textDocument/didChange", params)?;
        self.found(version)
    }

    fn end(self) -> Result<()> {
        self.request(2, "shutdown", Value::Null)?;
        self.notify("exit", Value::Null)?;
        let Ok(served) = self.server.join() else {
            bail!("the server panicked");
        };
        Ok(served?)
    }

    fn notify(&self, method: &str, params: Value) -> Result<()> {
        let note = Notification::new(method.to_owned(), params);
        Ok(self.connection.sender.send(note.into())?)
    }

    fn request(&self, id: i32, method: &str, params: Value) -> Result<()> {
        let request = Request::new(id.into(), method.to_owned(), params);
        self.connection.sender.send(request.into())?;
        while !matches!(self.connection.receiver.recv()?, Message::Response(_)) {}
        Ok(())
    }

    /// Waits for the diagnostics of a version.
    fn found(&self, version: i32) -> Result<()> {
        loop {
            if let Message::Notification(note) = self.connection.receiver.recv()?
                && note.params["version"] == version
            {
                return Ok(());
            }
        }
    }
}
