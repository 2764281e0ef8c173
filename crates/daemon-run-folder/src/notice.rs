//! Marks in the folder, so that the end of a run and each of its replies are published exactly once.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::disk::{Action, FolderError, create_file, failed};
use crate::folder::Folder;

/// A notice that is published about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunNotice {
    /// The end of the run.
    End,
    /// The reply to the message with this number, or its failure.
    Reply(u32),
}

/// The result of [`Folder::mark`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// This call made the mark, so the caller publishes the notice.
    First,
    /// The mark existed, with this content.
    Before(Vec<u8>),
}

impl Folder {
    /// Marks a notice as published and stores its content. Exactly one of several callers gets [`Marked::First`].
    ///
    /// The mark is durable before this returns, and never visible with a part of its content.
    ///
    /// # Errors
    /// The mark could not be written, or an existing one could not be read.
    pub fn mark(&self, notice: RunNotice, content: &[u8]) -> Result<Marked, FolderError> {
        let mark = self.mark_path(notice);
        let mut random = [0; 6];
        getrandom::fill(&mut random)
            .map_err(|error| failed(Action::Create, &mark)(io::Error::other(error)))?;
        let suffix: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let temporary = self.path().join(format!(".notified.{suffix}.tmp"));
        let mut file = create_file(&temporary)?;
        // A hard link fails if the name exists, and makes the whole content visible at once. A rename would replace the mark of
        // another publisher; creating the file under its name would show it empty.
        let linked = file
            .write_all(content)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&temporary, &mark));
        // The link keeps the content. A temporary file that stays is harmless: no reader uses its name.
        fs::remove_file(&temporary).unwrap_or(());
        match linked {
            Ok(()) => {
                let directory = fs::File::open(self.path());
                directory
                    .and_then(|directory| directory.sync_all())
                    .map_err(failed(Action::Write, self.path()))?;
                Ok(Marked::First)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::read(&mark)
                .map(Marked::Before)
                .map_err(failed(Action::Read, &mark)),
            Err(error) => Err(failed(Action::Write, &mark)(error)),
        }
    }

    /// Returns the content of a mark; `None` if the notice was not marked.
    ///
    /// # Errors
    /// The mark exists but could not be read.
    pub fn marked(&self, notice: RunNotice) -> Result<Option<Vec<u8>>, FolderError> {
        let mark = self.mark_path(notice);
        match fs::read(&mark) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(Action::Read, &mark)(error)),
        }
    }

    fn mark_path(&self, notice: RunNotice) -> PathBuf {
        match notice {
            RunNotice::End => self.path().join(".notified"),
            RunNotice::Reply(n) => self.path().join(format!(".notified-{n}")),
        }
    }
}
