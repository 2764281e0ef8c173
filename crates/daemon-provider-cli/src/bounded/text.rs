//! Text of any length, of which the beginning and the end are kept; long text is kept on disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes kept of each end.
const KEPT: usize = 1 << 20;
/// Bytes kept in memory. It is small because a hundred programs may print at once.
const IN_MEMORY: usize = 64 << 10;

/// Lines of output: the first and the last MiB.
#[derive(Debug)]
pub(crate) struct BoundedText {
    limits: TextLimits,
    has_lines: bool,
    /// The newest text, which is not on disk yet.
    recent: String,
    spill: Spill,
}

#[derive(Debug, Clone, Copy)]
struct TextLimits {
    kept: usize,
    in_memory: usize,
}

/// Where text goes that exceeds the memory limit.
#[derive(Debug)]
enum Spill {
    InMemory,
    /// An unnamed file: the beginning, followed by a ring buffer of the rest.
    OnDisk {
        file: File,
        length: u64,
    },
    /// Writing failed; only the length is known.
    Failed {
        length: u64,
    },
}

impl Default for BoundedText {
    fn default() -> Self {
        Self::keeping(KEPT, IN_MEMORY)
    }
}

impl BoundedText {
    fn keeping(kept: usize, in_memory: usize) -> Self {
        Self {
            limits: TextLimits { kept, in_memory },
            has_lines: false,
            recent: String::new(),
            spill: Spill::InMemory,
        }
    }

    pub(crate) fn push(&mut self, line: &str) {
        if self.has_lines {
            self.recent.push('\n');
        }
        self.has_lines = true;
        self.recent.push_str(line);
        if self.recent.len() > self.limits.in_memory {
            self.spill.take(&self.recent, self.limits.kept);
            self.recent.clear();
            // A line may be much longer than the limit, and the buffer would keep that capacity.
            self.recent.shrink_to(self.limits.in_memory);
        }
    }

    /// Returns the lines joined, with a mark where some are missing.
    pub(crate) fn join(&self) -> String {
        let (length, read) = match &self.spill {
            Spill::InMemory => return self.recent.clone(),
            Spill::OnDisk { file, length } => (*length, read(file, *length, self.limits.kept)),
            Spill::Failed { length } => (*length, Ok((Vec::new(), Vec::new()))),
        };
        // Text that cannot be read back is counted as left out, like text over the limit: a run must not fail for its log.
        let (mut head, mut tail) = read.unwrap_or_default();
        tail.extend_from_slice(self.recent.as_bytes());
        let all = length + self.recent.len() as u64;
        if all == (head.len() + tail.len()) as u64 {
            head.extend(tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        let is_end = |byte: &u8| *byte == b'\n';
        head.truncate(head.iter().rposition(is_end).unwrap_or(head.len()));
        let tail = tail
            .get(tail.len().saturating_sub(self.limits.kept)..)
            .unwrap_or_default();
        let line = tail.iter().position(is_end).map_or(0, |at| at + 1);
        let tail = tail.get(line..).unwrap_or_default();
        let dropped = all.saturating_sub((head.len() + tail.len()) as u64);
        let (head, tail) = (
            String::from_utf8_lossy(&head),
            String::from_utf8_lossy(tail),
        );
        let gap = format!("[{dropped} bytes left out]");
        let parts = [&*head, &*gap, &*tail];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<&str>>().join("\n")
    }
}

impl Spill {
    fn take(&mut self, text: &str, kept: usize) {
        let written = match self {
            Self::InMemory => tempfile::tempfile().and_then(|file| {
                write(&file, 0, text, kept)?;
                Ok(Self::OnDisk {
                    file,
                    length: text.len() as u64,
                })
            }),
            Self::OnDisk { file, length } => {
                let written = write(file, *length, text, kept);
                *length += text.len() as u64;
                match written {
                    Ok(()) => return,
                    Err(error) => Err(error),
                }
            }
            Self::Failed { length } => {
                *length += text.len() as u64;
                return;
            }
        };
        let length = match self {
            Self::OnDisk { length, .. } => *length,
            Self::InMemory | Self::Failed { .. } => text.len() as u64,
        };
        // The error is not returned: the result shows how many bytes are left out.
        *self = written.unwrap_or(Self::Failed { length });
    }
}

/// Returns the file offset of a position in the text, and how many bytes fit there in one piece.
fn place(at: u64, kept: u64) -> (u64, u64) {
    if at < kept {
        (at, kept - at)
    } else {
        let into = (at - kept) % kept;
        (kept + into, kept - into)
    }
}

fn write(file: &File, mut at: u64, text: &str, kept: usize) -> io::Result<()> {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (offset, room) = place(at, kept as u64);
        let room = usize::try_from(room).map_or(rest.len(), |room| room.min(rest.len()));
        let (piece, more) = rest.split_at(room);
        file.write_all_at(piece, offset)?;
        at += room as u64;
        rest = more;
    }
    Ok(())
}

/// Reads the beginning and the end from the file.
fn read(file: &File, length: u64, kept: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let kept = kept as u64;
    let rest = length.saturating_sub(kept);
    // Before the ring is full, its oldest byte is at its start; afterwards at the position of the next write.
    let seam = if rest > kept { rest % kept } else { 0 };
    let head = read_at(file, 0, length.min(kept))?;
    let mut tail = read_at(file, kept + seam, rest.min(kept) - seam)?;
    tail.extend(read_at(file, kept, seam)?);
    Ok((head, tail))
}

fn read_at(file: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_in_memory_and_on_the_disk() {
        let table: [(&[&str], &str); 9] = [
            (&[], ""),
            (&["", "a", ""], "\na\n"),
            (&["ab", "cd"], "ab\ncd"),
            (&["ab", "cdef", "gh"], "ab\ncdef\ngh"),
            (&["ab", "cdef", "gh", "i"], "ab\ncdef\ngh\ni"),
            (
                &["ab", "cdef", "gh", "ijkl"],
                "ab\n[9 bytes left out]\nijkl",
            ),
            (
                &["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"],
                "ab\ncd\n[13 bytes left out]\nmn\nop",
            ),
            (&["abcdefghijklmn", "o"], "abcdef\n[9 bytes left out]\no"),
            (&["ééééééééé"], "ééé\n[6 bytes left out]\nééé"),
        ];
        for in_memory in [0, 1, 2, 100] {
            for (lines, expected) in table {
                let mut text = BoundedText::keeping(6, in_memory);
                for line in lines {
                    text.push(line);
                }
                let joined = text.join();
                let whole = lines.join("\n");
                let expected = if in_memory == 100 { &whole } else { expected };
                assert_eq!(joined, expected, "{lines:?}, {in_memory} bytes in memory");
            }
        }
    }

    #[test]
    fn a_long_text_comes_back_whole_up_to_both_ends() {
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
        let mut text = BoundedText::keeping(5000, 64);
        for line in &lines {
            text.push(line);
        }
        let whole = lines.join("\n");
        assert_eq!(text.join(), whole);
        text.push(&lines.join("/"));
        text.push("the end");
        let joined = text.join();
        assert!(
            joined.starts_with("line 0\nline 1\n") && joined.ends_with("]\nthe end"),
            "{joined}"
        );
    }
}
