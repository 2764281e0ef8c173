//! The publisher: each end and each reply is published once, in the order of sequence numbers.

use std::path::Path;
use std::sync::Arc;

use daemon_records::error::{OpError, OpErrorKind};
use daemon_run_folder::write_atomic;
use daemon_run_folder::{Folder, Marked, RunNotice};
use serde_json::Value;
use tokio::sync::{Mutex, broadcast, mpsc, oneshot};

use super::boot;
use super::notice::{NewNotice, Window, of_mark};
use crate::run_context::RunContext;

/// The number of waiting publications; further senders wait.
const QUEUE: usize = 256;
/// The number of events that a client may be behind; one that misses more requests them by number.
const BEHIND: usize = 256;

/// The queue of publications.
#[derive(Debug)]
pub(crate) struct Publisher {
    queue: mpsc::Sender<Work>,
    waiting: Mutex<mpsc::Receiver<Work>>,
    events: broadcast::Sender<Arc<Value>>,
}

/// What the publisher does next.
#[derive(Debug)]
enum Work {
    Publish(Box<Publication>),
    /// Takes all notices out, and sends their number once that is on disk.
    Dismiss(oneshot::Sender<usize>),
}

/// A notice to publish, and where its number is sent.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) folder: Folder,
    pub(super) notice: RunNotice,
    pub(super) new_notice: NewNotice,
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
    /// Returns the channel of published events.
    pub(super) fn events(&self) -> broadcast::Sender<Arc<Value>> {
        self.events.clone()
    }

    /// Publishes a notice and returns its number. `None` if that failed; the next start repeats it.
    pub(super) async fn publish(
        &self,
        folder: Folder,
        notice: RunNotice,
        new_notice: NewNotice,
    ) -> Option<u64> {
        let (published, seq) = oneshot::channel();
        let publication = Publication {
            folder,
            notice,
            new_notice,
            published,
        };
        let work = Work::Publish(Box::new(publication));
        self.queue.send(work).await.ok()?;
        seq.await.ok()
    }

    /// Takes all notices out, and returns their number. `None` if that could not be written.
    async fn dismiss(&self) -> Option<usize> {
        let (dismissed, n_dismissed) = oneshot::channel();
        self.queue.send(Work::Dismiss(dismissed)).await.ok()?;
        n_dismissed.await.ok()
    }
}

/// Returns the content of the notice of runs.
///
/// # Errors
/// The file cannot be read.
pub async fn notices(run_context: &RunContext) -> Result<Value, OpError> {
    let (path, now) = (file(&run_context.paths.notices), run_context.now());
    super::serve::blocking(move || match std::fs::read(&path) {
        Ok(text) => Ok(Window::read(&text).file(now)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(Window::default().file(now))
        }
        Err(error) => {
            let message = format!("the notices cannot be read: {error}");
            Err(OpError::new(OpErrorKind::Broken, "storage", message))
        }
    })
    .await
}

/// Takes all notices of runs out, and returns their number. `list` still has the runs.
///
/// # Errors
/// The notices could not be written.
pub async fn dismiss_notices(run_context: &RunContext) -> Result<usize, OpError> {
    let dismissed = run_context.emanations.publisher.dismiss().await;
    dismissed.ok_or_else(|| {
        let message = "the notices could not be written";
        OpError::new(OpErrorKind::Broken, "storage", message)
    })
}

/// Publishes until the host has drained, beginning with the notices of earlier hosts.
pub async fn run(run_context: Arc<RunContext>) {
    let publisher = &run_context.emanations.publisher;
    let mut waiting = publisher.waiting.lock().await;
    let mut notices = NoticeWriter::open(&run_context);
    boot::finish(&run_context, &mut notices).await;
    run_context.emanations.recovered.cancel();
    loop {
        let work = tokio::select! {
            // A publication is preferred to the end of the host, so that the queue is empty when this returns.
            biased;
            Some(work) = waiting.recv() => work,
            () = run_context.lifetime.finished.cancelled() => return,
        };
        let publication = match work {
            Work::Publish(publication) => *publication,
            Work::Dismiss(dismissed) => {
                if let Some(n_dismissed) = notices.dismiss() {
                    // The client may have left.
                    dismissed.send(n_dismissed).unwrap_or_default();
                }
                continue;
            }
        };
        let Publication {
            folder,
            notice,
            new_notice,
            published,
        } = publication;
        if let Some(seq) = notices.publish(&folder, notice, &new_notice) {
            // The task of the run may have ended.
            published.send(seq).unwrap_or_default();
        }
    }
}

/// Numbers notices and writes `system.json`.
pub(super) struct NoticeWriter {
    run_context: Arc<RunContext>,
    window: Window,
    last: u64,
}

impl NoticeWriter {
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

    /// Continues after a number that an earlier host gave.
    pub(super) fn note_seq(&mut self, seq: u64) {
        self.last = self.last.max(seq);
    }

    /// Marks, writes and sends one event. Steps that an earlier host completed are not repeated.
    pub(super) fn publish(
        &mut self,
        folder: &Folder,
        notice: RunNotice,
        new_notice: &NewNotice,
    ) -> Option<u64> {
        let event = new_notice.event(self.last + 1);
        // The mark contains the event with its number and precedes `system.json`: a start after a crash repeats the event under
        // the same number.
        let (seq, event) = match folder.mark(notice, event.to_string().as_bytes()) {
            Ok(Marked::First) => (self.last + 1, event),
            // A mark that cannot be parsed was not written by a host. Publishing could repeat a notice, so it is skipped.
            Ok(Marked::Before(content)) => of_mark(&content)?,
            // A deleted folder has no mark. The window alone prevents a repetition then.
            Err(_) if matches!(folder.path().try_exists(), Ok(false)) => (self.last + 1, event),
            Err(error) => {
                let error = daemon_records::error::chain(&error);
                tracing::error!(run = %folder.id(), error, "the end of a run could not be published");
                return None;
            }
        };
        self.note_seq(seq);
        daemon_records::failpoint::hit("E1");
        if self.window.add(event.clone()) {
            self.write(&self.window)?;
            // Sending fails if no client is connected, which is not an error.
            let sent = self
                .run_context
                .emanations
                .publisher
                .events
                .send(Arc::new(event));
            tracing::debug!(seq, clients = sent.unwrap_or(0), "published");
        }
        daemon_records::failpoint::hit("E2");
        Some(seq)
    }

    /// Takes all events out, and returns their number once that is on disk.
    fn dismiss(&mut self) -> Option<usize> {
        let mut window = self.window.clone();
        let n_dismissed = window.dismiss();
        if n_dismissed > 0 {
            self.write(&window)?;
            self.window = window;
        }
        Some(n_dismissed)
    }

    /// Writes `system.json`; `None` if that failed.
    fn write(&self, window: &Window) -> Option<()> {
        let text = format!("{:#}\n", window.file(self.run_context.now()));
        let written = write_atomic(&file(&self.run_context.paths.notices), text.as_bytes());
        if let Err(error) = &written {
            let error = daemon_records::error::chain(error);
            tracing::error!(error, "the notices could not be written");
        }
        written.ok()
    }
}

fn file(notices: &Path) -> std::path::PathBuf {
    notices.join("system.json")
}
