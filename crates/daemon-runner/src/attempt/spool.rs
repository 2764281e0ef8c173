//! The spool of a run: the file to which its processes append proposals.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use daemon_engine::MAX_PROPOSAL_BYTES;
use daemon_provider::redact::Redactor;
use rustix::fs::OFlags;

use daemon_records::random;

/// The most lines of a spool that are read.
const MAX_LINES: usize = 200;

/// The spool of a run, opened before its processes start: a link that they put in its place is never followed.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    path: PathBuf,
}

impl Spool {
    /// Opens the spool of a run that has not started.
    ///
    /// # Errors
    /// The file does not exist, or is not a regular file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Without `NONBLOCK`, opening a FIFO would wait for a writer.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).expect("the flags of open are an int");
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    /// Passes every complete line of valid length to `take`, and returns the problems of the others.
    ///
    /// The file is replaced by one with the accepted lines only, without the secrets that `redactor` knows.
    pub(super) fn read(self, redactor: &Redactor, mut take: impl FnMut(&str)) -> Vec<String> {
        let mut problems = Vec::new();
        if self.file.metadata().is_ok_and(|meta| meta.len() == 0) {
            return problems;
        }
        let read = self.read_lines(redactor, &mut take, &mut problems);
        if let Err(error) = read {
            problems.push(format!("cannot be read: {error}"));
        }
        problems
    }

    fn read_lines(
        mut self,
        redactor: &Redactor,
        take: &mut impl FnMut(&str),
        problems: &mut Vec<String>,
    ) -> io::Result<()> {
        self.file.rewind()?;
        let mut lines = BufReader::new(&self.file);
        // A new file is renamed over the spool, so that a crash leaves the old content or the redacted one.
        let clean_path = self.path.with_file_name(format!(".{}.tmp", random::hex(8)));
        let clean = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&clean_path)?;
        let mut clean = BufWriter::new(clean);
        for n in 1..=MAX_LINES + 1 {
            match line(&mut lines)? {
                Line::End => break,
                _ if n > MAX_LINES => {
                    problems.push(format!(
                        "it has more than {MAX_LINES} lines; the rest was not read"
                    ));
                    break;
                }
                Line::Torn if n == 1 => {
                    problems.push("its only line is torn and was dropped".to_owned());
                }
                Line::Torn => problems.push("its last line is torn and was dropped".to_owned()),
                Line::TooLong => problems.push(format!("line {n} is too long")),
                Line::Whole(bytes) => match std::str::from_utf8(&bytes) {
                    Ok("") => {}
                    Ok(text) => {
                        take(text);
                        writeln!(clean, "{}", redactor.text(text))?;
                    }
                    Err(_) => problems.push(format!("line {n} is not UTF-8")),
                },
            }
        }
        clean.flush()?;
        fs::rename(clean_path, &self.path)
    }
}

/// The result of reading one line.
enum Line {
    Whole(Vec<u8>),
    TooLong,
    /// The file ends before the line does.
    Torn,
    End,
}

fn line(reader: &mut impl BufRead) -> io::Result<Line> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_PROPOSAL_BYTES).unwrap_or(u64::MAX) + 1;
    reader.by_ref().take(most).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(Line::End);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        return Ok(Line::Whole(bytes));
    }
    if bytes.len() <= MAX_PROPOSAL_BYTES {
        return Ok(Line::Torn);
    }
    match reader.skip_until(b'\n')? {
        0 => Ok(Line::Torn),
        _ => Ok(Line::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Reads a spool with this content, and returns the proposals, the problems and the file afterwards.
    fn read(content: &[u8]) -> (Vec<String>, Vec<String>, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("outputs.jsonl");
        fs::write(&path, "").unwrap();
        let spool = Spool::open(&path).unwrap();
        fs::write(&path, content).unwrap();
        let mut taken = Vec::new();
        let redactor = Redactor::of(["canary-1".to_owned()]);
        let problems = spool.read(&redactor, |line| taken.push(line.to_owned()));
        let left = fs::read_to_string(&path).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        (taken, problems, left)
    }

    #[test]
    fn whole_lines_are_taken_and_stay_without_secrets() {
        let (taken, problems, left) = read(b"{\"a\":\"canary-1\"}\n\nb\nto");
        assert_eq!(taken, ["{\"a\":\"canary-1\"}", "b"]);
        assert_eq!(problems, ["its last line is torn and was dropped"]);
        assert_eq!(left, "{\"a\":\"<redacted>\"}\nb\n");
        assert_eq!(read(b"").0, [""; 0]);
        assert_eq!(read(b"{").1, ["its only line is torn and was dropped"]);
    }

    #[test]
    fn what_is_too_much_is_left_out_and_told() {
        let long = [b"x".repeat(MAX_PROPOSAL_BYTES + 1), b"\nb\n\xff\n".to_vec()].concat();
        let (taken, problems, left) = read(&long);
        assert_eq!((taken, left.as_str()), (vec!["b".to_owned()], "b\n"));
        assert_eq!(problems, ["line 1 is too long", "line 3 is not UTF-8"]);
        let (taken, problems, _) = read(&b"a\n".repeat(201));
        assert_eq!(taken.len(), 200);
        assert_eq!(
            problems,
            ["it has more than 200 lines; the rest was not read"]
        );
        assert_eq!(read(&b"a\n".repeat(200)).1, [""; 0]);
    }

    #[test]
    fn what_was_put_in_the_place_of_a_spool_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("outputs.jsonl");
        let secret = directory.path().join("secret");
        fs::write(&secret, "not yours\n").unwrap();
        fs::write(&path, "").unwrap();
        let spool = Spool::open(&path).unwrap();
        fs::write(&path, "mine\n").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&secret, &path).unwrap();
        let mut taken = Vec::new();
        let problems = spool.read(&Redactor::default(), |line| taken.push(line.to_owned()));
        assert_eq!((taken, problems), (vec!["mine".to_owned()], vec![]));
        assert_eq!(fs::read_to_string(&secret).unwrap(), "not yours\n");
        // Nor is one opened that was put there before.
        fs::remove_file(&path).unwrap();
        symlink(&secret, &path).unwrap();
        assert!(Spool::open(&path).is_err());
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(Spool::open(&path).is_err(), "and nobody waits for a writer");
    }
}
