//! The file format of SQLite's write-ahead log: the commits that can be read, and those after a damaged part.
//!
//! A header of 32 bytes is followed by frames, each a header of 24 bytes and a page. Every checksum covers all that came
//! before it in the file, so that SQLite ends the log at the first frame that is wrong. A frame whose own content is right
//! when it is checked against the checksum that the frame before it *stores* was written behind that one all the same.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const MAGIC: u32 = 0x377F_0682;
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The random values that distinguish one log of a database from earlier ones.
pub(crate) type Salts = [u32; 2];

/// The result of reading a log file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The salts of the header; `None` if it is damaged.
    pub(crate) salts: Option<Salts>,
    /// The number of commits that can be read.
    pub(crate) commits: u64,
    /// The number of frames up to the last of them.
    pub(crate) frames: u64,
    /// The length of the file up to the last of them, in bytes.
    pub(crate) good_bytes: u64,
    /// The damage after them; `None` if only the end of the file was not completely written.
    pub(crate) damage: Option<Damage>,
}

/// Commits after a damaged frame or header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The offset of the first damaged frame; 0 for the header.
    pub(crate) at: u64,
    /// The number of commits that were written after it.
    pub(crate) commits: u64,
    /// Whether more frames follow the first of those commits.
    pub(crate) tail: Tail,
}

/// Whether the commits after the damage are more than the end of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// One commit at the end of the file: pages of one transaction may reach a disk in any order when the power fails.
    OneTransaction,
    /// More than one commit. Each transaction is on the disk before the next one begins, so that a power failure cannot be the reason.
    More,
}

/// The longest log that is read into memory, in bytes; the log of a busy host is merged before it is longer.
const MAX_COPY: u64 = 64 << 20;

/// How often a log is read at most that another process writes meanwhile.
const READINGS: usize = 20;

/// Reads the log at a path; a missing file is an empty log.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn survey(log: &Path, page_size: usize) -> io::Result<Survey> {
    let mut survey = survey_once(log, page_size)?;
    for _ in 1..READINGS {
        if survey.damage.is_none() {
            break;
        }
        // A frame that was read while it was written looks damaged, and so does the rest of the log before, if a new one was begun.
        // Damage is at the same place when the log is read again.
        let again = survey_once(log, page_size)?;
        let is_same = (again.salts, again.good_bytes) == (survey.salts, survey.good_bytes);
        survey = again;
        if is_same {
            break;
        }
    }
    Ok(survey)
}

fn survey_once(log: &Path, page_size: usize) -> io::Result<Survey> {
    let mut file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Survey::default()),
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() > MAX_COPY {
        return survey_of(BufReader::with_capacity(1 << 16, file), page_size);
    }
    // Copied first, because that takes a fraction of the time, and less is written meanwhile.
    let mut copy = Vec::new();
    file.read_to_end(&mut copy)?;
    survey_of(copy.as_slice(), page_size)
}

fn survey_of(mut file: impl Read, page_size: usize) -> io::Result<Survey> {
    let mut header = [0; HEADER];
    if !fill(&mut file, &mut header)? {
        return Ok(Survey::default());
    }
    let header = Header::read(&header);
    let mut survey = Survey {
        salts: header.map(|header| header.salts),
        good_bytes: if header.is_some() { HEADER as u64 } else { 0 },
        ..Survey::default()
    };
    let page_size = header.map_or(page_size, |header| header.page_size);
    let order = header.map_or(ByteOrder::Little, |header| header.order);
    let mut frame = vec![0; FRAME_HEADER + page_size];
    let mut at = HEADER as u64;
    let mut n_frames = 0;
    // The checksum so far, as long as every frame was valid.
    let mut sum = header.map(|header| header.sum);
    let mut before = header.map(|header| (header.salts, header.sum));
    let mut wrong_at = if header.is_some() { None } else { Some(0) };
    while fill(&mut file, &mut frame)? {
        let start = at;
        at += frame.len() as u64;
        n_frames += 1;
        let read = Frame::read(&frame);
        let is_behind = |(salts, sum)| read.salts == salts && read.adds_up(&frame, sum, order);
        if wrong_at.is_none()
            && let Some(so_far) = sum
            && survey.salts.is_some_and(|salts| is_behind((salts, so_far)))
        {
            sum = Some(read.sum);
            if read.is_commit {
                survey.commits += 1;
                survey.frames = n_frames;
                survey.good_bytes = at;
            }
        } else {
            let wrong_at = *wrong_at.get_or_insert(start);
            // A log is overwritten from its beginning, so that frames of the log before it follow the end of this one.
            let is_of_this_log = survey.salts.is_none_or(|salts| salts == read.salts);
            if is_of_this_log && before.is_some_and(is_behind) {
                survey.damage = Damage::with(survey.damage, wrong_at, read.is_commit);
            }
        }
        before = Some((read.salts, read.sum));
    }
    Ok(survey)
}

impl Damage {
    /// Adds a frame after the damage. Frames before the first commit may belong to a transaction that
    /// was rolled back, and are no damage.
    fn with(known: Option<Self>, at: u64, is_commit: bool) -> Option<Self> {
        match known {
            Some(known) => Some(Self {
                commits: known.commits + u64::from(is_commit),
                tail: Tail::More,
                ..known
            }),
            None if is_commit => Some(Self {
                at,
                commits: 1,
                tail: Tail::OneTransaction,
            }),
            None => None,
        }
    }
}

#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

#[derive(Clone, Copy)]
struct Header {
    order: ByteOrder,
    page_size: usize,
    salts: Salts,
    sum: [u32; 2],
}

impl Header {
    /// Reads a header; `None` if it is damaged.
    fn read(bytes: &[u8; HEADER]) -> Option<Self> {
        let magic = word(bytes, 0);
        let order = match magic {
            MAGIC => ByteOrder::Little,
            _ if magic == MAGIC | 1 => ByteOrder::Big,
            _ => return None,
        };
        let sum = checksum([0, 0], &bytes[..HEADER - 8], order);
        let page_size = usize::try_from(word(bytes, 8)).ok()?;
        let is_size = page_size.is_power_of_two() && (512..=65_536).contains(&page_size);
        (is_size && sum == pair(bytes, 24)).then(|| Self {
            order,
            page_size,
            salts: pair(bytes, 16),
            sum,
        })
    }
}

/// The header of a frame, as stored.
struct Frame {
    is_commit: bool,
    salts: Salts,
    sum: [u32; 2],
}

impl Frame {
    fn read(bytes: &[u8]) -> Self {
        Self {
            is_commit: word(bytes, 4) != 0,
            salts: pair(bytes, 8),
            sum: pair(bytes, 16),
        }
    }

    /// Reports whether the frame was written after content with the checksum `before`.
    fn adds_up(&self, bytes: &[u8], before: [u32; 2], order: ByteOrder) -> bool {
        let sum = checksum(before, &bytes[..8], order);
        let sum = checksum(sum, &bytes[FRAME_HEADER..], order);
        sum == self.sum && word(bytes, 0) != 0
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..at + 4].try_into().expect("four bytes");
    u32::from_be_bytes(four)
}

fn pair(bytes: &[u8], at: usize) -> [u32; 2] {
    [word(bytes, at), word(bytes, at + 4)]
}

/// Adds bytes to a checksum; their number is a multiple of eight.
fn checksum([mut first, mut second]: [u32; 2], bytes: &[u8], order: ByteOrder) -> [u32; 2] {
    let value = |four: &[u8]| {
        let four = four.try_into().expect("four bytes");
        match order {
            ByteOrder::Little => u32::from_le_bytes(four),
            ByteOrder::Big => u32::from_be_bytes(four),
        }
    };
    for eight in bytes.chunks_exact(8) {
        let (a, b) = eight.split_at(4);
        first = first.wrapping_add(value(a)).wrapping_add(second);
        second = second.wrapping_add(value(b)).wrapping_add(first);
    }
    [first, second]
}

/// Fills a buffer, or reports that the file ends before.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
