use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::redact::Redactor;
use daemon_run_folder::{Folder, Owner, RunState, Start};
use tokio::sync::Semaphore;

use super::*;

/// A run that takes messages, and keeps them.
#[derive(Debug, Default)]
struct Talk {
    heard: Vec<String>,
    is_deaf: bool,
}

#[async_trait]
impl Run for Talk {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        Ok(None)
    }

    fn would_take(&self) -> Asked {
        Asked::Joined
    }

    async fn ask(&mut self, message: &str) -> Result<Asked, ProviderError> {
        if self.is_deaf {
            return Ok(Asked::Unsupported);
        }
        self.heard.push(message.to_owned());
        Ok(Asked::Joined)
    }

    async fn cancel(&mut self, _: StopReason) -> Result<(), ProviderError> {
        Ok(())
    }
}

fn record(home: &tempfile::TempDir) -> Record {
    let now = random::now();
    let reserved = Folder::reserve(home.path(), "em-1".parse().unwrap(), now).unwrap();
    let owner = Owner {
        pid: 1,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let start = Start::new("cli:7", owner, "llm", "a task", b"Task: a task".to_vec());
    Record::open(reserved, start, Redactor::default(), None).unwrap()
}

fn message(text: &str) -> (Message, oneshot::Receiver<Receipt>) {
    let turn = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let (receipt, received) = oneshot::channel();
    let text = text.to_owned();
    let message = Message {
        text,
        turn,
        receipt,
    };
    (message, received)
}

#[tokio::test]
async fn a_message_that_cannot_be_stored_does_not_join_the_conversation() {
    let home = tempfile::tempdir().unwrap();
    let mut record = record(&home);
    let path = record.folder().document();
    std::fs::remove_file(&path).unwrap();
    // A directory in its place cannot be replaced by a file.
    std::fs::create_dir(&path).unwrap();
    let (mut run, mut following) = (Talk::default(), Following::default());
    let (lost, receipt) = message("first");
    following.take(&mut run, &mut record, lost).await;
    assert_eq!(receipt.await, Ok(Receipt::Lost));
    assert_eq!((run.heard.len(), following.joined.len()), (0, 0));
    std::fs::remove_dir(&path).unwrap();
    let (stored, receipt) = message("and now?");
    following.take(&mut run, &mut record, stored).await;
    assert_eq!(receipt.await, Ok(Receipt::Recorded));
    assert_eq!(
        (run.heard, following.joined.len()),
        (vec!["and now?".to_owned()], 1)
    );
}

#[tokio::test]
async fn a_stored_message_that_its_run_does_not_take_is_kept_as_missed() {
    let home = tempfile::tempdir().unwrap();
    let mut record = record(&home);
    let mut run = Talk {
        is_deaf: true,
        ..Talk::default()
    };
    let mut following = Following::default();
    let (sent, receipt) = message("so?");
    following.take(&mut run, &mut record, sent).await;
    assert_eq!(receipt.await, Ok(Receipt::Recorded));
    let arrivals: Vec<Arrival> = following.joined.iter().map(|(_, how)| *how).collect();
    assert_eq!(arrivals, [Arrival::Missed]);
    assert_eq!(record.document().followups[0].state, RunState::Running);
}
