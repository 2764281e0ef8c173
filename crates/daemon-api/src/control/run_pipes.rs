//! What a run may ask without a socket: over two pipes that only it can open.
//!
//! A confined process may make no socket of this machine's own kind, since no rule could tell the host's from others. A pipe
//! with a name is a file, for which there are rules.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;

use super::connection::{Line, Lines, read_message};
use super::run_client::answer;
use super::run_tokens::RunTokens;

/// The names of the pipes in their directory.
pub(super) const TO_HOST: &str = "to-host";
pub(super) const FROM_HOST: &str = "from-host";

/// How long an answer may wait for somebody who reads it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The host's ends of the pipes of one run.
#[derive(Debug)]
pub(crate) struct RunPipes {
    paths: [PathBuf; 2],
    reading: pipe::Receiver,
    writing: pipe::Sender,
}

impl RunPipes {
    /// Makes the pipes in a directory of the run, and the directory where it is not there.
    ///
    /// # Errors
    /// They cannot be made, or are there already.
    pub(crate) fn make(directory: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let paths = [TO_HOST, FROM_HOST].map(|name| directory.join(name));
        for path in &paths {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // Whatever this process takes away from the modes of its files.
            std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        }
        // Opened for both ways, the pipes have no end: processes of the run come and go.
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

    /// Returns the pipes, which the run must be able to open for both ways.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Answers what comes, until a line is too long to be taken.
    pub(crate) async fn serve(self, tokens: &RunTokens) {
        let mut writing = self.writing;
        let mut reading = BufReader::new(self.reading);
        let mut lines = Lines::new(&mut reading);
        let mut token = None;
        while let Ok(Line::Whole(bytes)) = lines.next().await {
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let answer = match read_message(&bytes) {
                Ok(message) => answer(message, &mut token, tokens).await,
                Err(refusal) => Some(*refusal),
            };
            let Some(answer) = answer else { continue };
            let mut line = serde_json::to_vec(&answer).expect("a message is representable");
            line.push(b'\n');
            let written = tokio::time::timeout(PATIENCE, writing.write_all(&line)).await;
            if !matches!(written, Ok(Ok(()))) {
                tracing::debug!("a run does not read the answers to what it asked");
            }
        }
    }
}
