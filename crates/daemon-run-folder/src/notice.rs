//! The marks by which the end of a run, and each reply of it, is published once.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::disk::{Action, FolderError, create_file, failed};
use crate::folder::Folder;

/// What is published of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Notice {
    /// Its end.
    End,
    /// What became of the message with this number.
    Reply(u32),
}

/// Whether a mark was made by this call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// It was; nobody else publishes this.
    First,
    /// It was there before, with this content.
    Before(Vec<u8>),
}

impl Folder {
    /// Marks something as published, with what is published; of all that try, one is first.
    ///
    /// The mark appears whole and durable, or not at all.
    ///
    /// # Errors
    /// It could not be written or, where it was there, read.
    pub fn mark(&self, notice: Notice, content: &[u8]) -> Result<Marked, FolderError> {
        let mark = self.mark_path(notice);
        let mut random = [0; 6];
        getrandom::fill(&mut random)
            .map_err(|error| failed(Action::Create, &mark)(io::Error::other(error)))?;
        let suffix: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let temporary = self.path().join(format!(".notified.{suffix}.tmp"));
        let mut file = create_file(&temporary)?;
        let linked = file
            .write_all(content)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&temporary, &mark));
        // What is left of it is told apart by its name.
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

    /// Returns the content of a mark; `None` where there is none.
    ///
    /// # Errors
    /// It is there but could not be read.
    pub fn marked(&self, notice: Notice) -> Result<Option<Vec<u8>>, FolderError> {
        let mark = self.mark_path(notice);
        match fs::read(&mark) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(Action::Read, &mark)(error)),
        }
    }

    fn mark_path(&self, notice: Notice) -> PathBuf {
        match notice {
            Notice::End => self.path().join(".notified"),
            Notice::Reply(n) => self.path().join(format!(".notified-{n}")),
        }
    }
}
