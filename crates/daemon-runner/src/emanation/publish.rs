//! The one publisher: each end and each reply is told once, in the order of its number.

use std::path::Path;
use std::sync::Arc;

use daemon_run_folder::{Folder, Marked, Notice};
use serde_json::Value;
use tokio::sync::{Mutex, broadcast, mpsc, oneshot};

use super::boot;
use super::notice::{News, Window, of_mark};
use crate::files::write_atomic;
use crate::run_context::RunContext;

/// How many publications may wait; whoever has one more waits itself.
const QUEUE: usize = 256;
/// How many events a client may be behind; one that is further asks by number.
const BEHIND: usize = 256;

/// Where publications wait.
#[derive(Debug)]
pub(crate) struct Publisher {
    queue: mpsc::Sender<Publication>,
    waiting: Mutex<mpsc::Receiver<Publication>>,
    events: broadcast::Sender<Arc<Value>>,
}

/// One thing to publish.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) folder: Folder,
    pub(super) notice: Notice,
    pub(super) news: News,
    pub(super) published: oneshot::Sender<u64>,
}

impl Default for Publisher {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        Self {
            queue,
            waiting: Mutex::new(waiting),
            events: broadcast::channel(BEHIND).0,
        }
    }
}

impl Publisher {
    /// Returns where everything that is published can be heard.
    pub(super) fn events(&self) -> broadcast::Sender<Arc<Value>> {
        self.events.clone()
    }

    /// Publishes something, and returns its number; `None` where it could not be published, which the next start repeats.
    pub(super) async fn publish(&self, folder: Folder, notice: Notice, news: News) -> Option<u64> {
        let (published, told) = oneshot::channel();
        let publication = Publication {
            folder,
            notice,
            news,
            published,
        };
        self.queue.send(publication).await.ok()?;
        told.await.ok()
    }
}

/// Publishes until everything has finished: first what an earlier host left half done.
pub async fn run(run_context: Arc<RunContext>) {
    let publisher = &run_context.emanations.publisher;
    let mut waiting = publisher.waiting.lock().await;
    let mut desk = Desk::open(&run_context);
    boot::finish(&run_context, &mut desk).await;
    loop {
        let publication = tokio::select! {
            biased;
            Some(publication) = waiting.recv() => publication,
            () = run_context.lifetime.finished.cancelled() => return,
        };
        let Publication {
            folder,
            notice,
            news,
            published,
        } = publication;
        if let Some(seq) = desk.publish(&folder, notice, &news) {
            // Whoever asked may be gone with its run.
            published.send(seq).unwrap_or_default();
        }
    }
}

/// The newest events, and where they are written.
pub(super) struct Desk {
    run_context: Arc<RunContext>,
    window: Window,
    last: u64,
}

impl Desk {
    fn open(run_context: &Arc<RunContext>) -> Self {
        let file = file(&run_context.paths.notices);
        let window = Window::read(&std::fs::read(file).unwrap_or_default());
        Self {
            last: window.last(),
            run_context: Arc::clone(run_context),
            window,
        }
    }

    /// Returns the last number that was written.
    pub(super) fn written(&self) -> u64 {
        self.window.last()
    }

    /// Notes a number that was given before.
    pub(super) fn note_seq(&mut self, seq: u64) {
        self.last = self.last.max(seq);
    }

    /// Marks, writes and tells one event; each step that was done before is left as it is.
    pub(super) fn publish(&mut self, folder: &Folder, notice: Notice, news: &News) -> Option<u64> {
        let event = news.event(self.last + 1);
        let (seq, event) = match folder.mark(notice, event.to_string().as_bytes()) {
            Ok(Marked::First) => (self.last + 1, event),
            // A mark that cannot be read was not made by a host; what it hides stays untold.
            Ok(Marked::Before(content)) => of_mark(&content)?,
            // A folder that was deleted holds no mark; then the window alone keeps it to one time.
            Err(_) if matches!(folder.path().try_exists(), Ok(false)) => (self.last + 1, event),
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::error!(run = %folder.id(), error, "the end of a run could not be published");
                return None;
            }
        };
        self.note_seq(seq);
        crate::failpoint::hit("E1");
        if self.window.add(event.clone()) {
            let text = format!("{:#}\n", self.window.file(self.run_context.now()));
            if let Err(error) =
                write_atomic(&file(&self.run_context.paths.notices), text.as_bytes())
            {
                let error = crate::error::chain(&error);
                tracing::error!(error, "the notices could not be written");
                return None;
            }
            // Without a client there is nobody to tell.
            let told = self
                .run_context
                .emanations
                .publisher
                .events
                .send(Arc::new(event));
            tracing::debug!(seq, clients = told.unwrap_or(0), "published");
        }
        crate::failpoint::hit("E2");
        Some(seq)
    }
}

fn file(notices: &Path) -> std::path::PathBuf {
    notices.join("system.json")
}
