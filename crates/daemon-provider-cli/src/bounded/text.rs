//! Text of any length, of which the beginning and the end are kept, on the disk where it is long.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// What is kept at each end.
const KEPT: usize = 1 << 20;
/// What is kept in memory: a hundred programs may print at once.
const IN_MEMORY: usize = 64 << 10;

/// Lines of output: the first and the last MiB.
#[derive(Debug)]
pub(crate) struct BoundedText {
    sizes: Sizes,
    has_lines: bool,
    /// What is not on the disk.
    recent: String,
    spilled: Spilled,
}

#[derive(Debug, Clone, Copy)]
struct Sizes {
    kept: usize,
    in_memory: usize,
}

/// Where the text is that is no longer in memory.
#[derive(Debug)]
enum Spilled {
    Nowhere,
    /// In a file without a name: the beginning, then the rest in a ring.
    There {
        file: File,
        length: u64,
    },
    /// The disk did not take it.
    Lost {
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
            sizes: Sizes { kept, in_memory },
            has_lines: false,
            recent: String::new(),
            spilled: Spilled::Nowhere,
        }
    }

    pub(crate) fn push(&mut self, line: &str) {
        if self.has_lines {
            self.recent.push('\n');
        }
        self.has_lines = true;
        self.recent.push_str(line);
        if self.recent.len() > self.sizes.in_memory {
            self.spilled.take(&self.recent, self.sizes.kept);
            self.recent.clear();
            // A line may be much longer than what is to be held.
            self.recent.shrink_to(self.sizes.in_memory);
        }
    }

    /// Returns the lines joined, with a mark where some are missing.
    pub(crate) fn join(&self) -> String {
        let (length, read) = match &self.spilled {
            Spilled::Nowhere => return self.recent.clone(),
            Spilled::There { file, length } => (*length, read(file, *length, self.sizes.kept)),
            Spilled::Lost { length } => (*length, Ok((Vec::new(), Vec::new()))),
        };
        // What the disk does not give back is missing like what was too much.
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
            .get(tail.len().saturating_sub(self.sizes.kept)..)
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

impl Spilled {
    fn take(&mut self, text: &str, kept: usize) {
        let written = match self {
            Self::Nowhere => tempfile::tempfile().and_then(|file| {
                write(&file, 0, text, kept)?;
                Ok(Self::There {
                    file,
                    length: text.len() as u64,
                })
            }),
            Self::There { file, length } => {
                let written = write(file, *length, text, kept);
                *length += text.len() as u64;
                match written {
                    Ok(()) => return,
                    Err(error) => Err(error),
                }
            }
            Self::Lost { length } => {
                *length += text.len() as u64;
                return;
            }
        };
        let length = match self {
            Self::There { length, .. } => *length,
            Self::Nowhere | Self::Lost { .. } => text.len() as u64,
        };
        // It is told by the mark.
        *self = written.unwrap_or(Self::Lost { length });
    }
}

/// Returns how much of what begins at a place can be written in one piece, and where.
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

/// Reads the beginning and the end back.
fn read(file: &File, length: u64, kept: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let kept = kept as u64;
    let rest = length.saturating_sub(kept);
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
