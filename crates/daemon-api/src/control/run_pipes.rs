//! Requests of a confined run, over two named pipes that only the run can open.
//!
//! A confined process may open no Unix socket, because Landlock cannot distinguish the host's socket from others. A named pipe
//! is a file, which a rule can allow.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;

use super::lines::{Line, Lines, read_message};
use super::run_client::answer;
use super::run_tokens::RunTokens;

/// The names of the pipes in their directory.
pub(super) const TO_HOST: &str = "to-host";
pub(super) const FROM_HOST: &str = "from-host";

/// The time limit for a process of the run to read a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The host's ends of the pipes of one run.
#[derive(Debug)]
pub(crate) struct RunPipes {
    paths: [PathBuf; 2],
    reading: pipe::Receiver,
    writing: pipe::Sender,
}

impl RunPipes {
    /// Creates the pipes in a directory of the run, and the directory if it does not exist.
    ///
    /// # Errors
    /// If the pipes cannot be created, or exist already.
    pub(crate) fn make(directory: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let paths = [TO_HOST, FROM_HOST].map(|name| directory.join(name));
        for path in &paths {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // `mknodat` applies the umask of the host, which may remove bits that the run needs.
            std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        }
        // Opened for reading and writing, the pipes report no end of file when a process of the run closes its ends.
        let mut both = pipe::OpenOptions::new();
        both.read_write(true);
        let reading = both.open_receiver(&paths[0])?;
        let writing = both.open_sender(&paths[1])?;
        Ok(Self {
            paths,
            reading,
            writing,
        })
    }

    /// Returns the paths of the pipes, which the run must be able to open for reading and writing.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Handles requests until a line exceeds the limit. A request is dropped if a line follows before its response: processes take
    /// turns, so that the one that sent it has given up or ended.
    pub(crate) async fn serve(self, tokens: &RunTokens) {
        let mut writing = self.writing;
        let mut reading = BufReader::new(self.reading);
        let mut lines = Lines::new(&mut reading);
        let mut token = None;
        let mut following = None;
        loop {
            let line = match following.take() {
                Some(line) => line,
                None => lines.next().await,
            };
            let Ok(Line::Whole(bytes)) = line else {
                return;
            };
            // A client begins with a line end, which completes a request that a previous process left unfinished.
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let answer = match read_message(&bytes) {
                Ok(message) => tokio::select! {
                    answer = answer(message, &mut token, tokens) => answer,
                    line = lines.next() => {
                        following = Some(line);
                        continue;
                    }
                },
                Err(refusal) => Some(*refusal),
            };
            let Some(answer) = answer else { continue };
            let mut line = serde_json::to_vec(&answer).expect("a message is representable");
            line.push(b'\n');
            let written = tokio::time::timeout(RESPONSE_TIMEOUT, writing.write_all(&line)).await;
            // The pipe stays open for the next process of the run.
            if !matches!(written, Ok(Ok(()))) {
                tracing::debug!("a run does not read the answers to what it asked");
            }
        }
    }
}
