//! The sections in their order, shrunk where they must be, with the daemon file untouched.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::page::Written;
use crate::parts::Parts;
use crate::sections;

/// How often a boundary that occurs in the text is drawn again.
const MAX_DRAWS: usize = 16;

/// How large a context may be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The most bytes the provider takes; unlimited when none.
    pub context_bytes: Option<usize>,
}

/// The bytes a provider receives for one activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    bytes: Vec<u8>,
    sections: Vec<Section>,
    daemon_file: Range<usize>,
    sha256: String,
    daemon_file_sha256: String,
    n_removed: u64,
}

/// One section's name, size and trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, for listings.
    pub name: &'static str,
    /// Its size in bytes, headings and fences included.
    pub bytes: usize,
    /// Whose words it holds.
    pub trust: Trust,
}

/// Whose words a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The runtime's, the operator's or the daemon author's; names from outside are quoted.
    Trusted,
    /// Anybody's: they stand in fences.
    Untrusted,
}

/// Says why there is no context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The daemon file and what cannot shrink are larger than the provider takes.
    #[error(
        "the context takes {needed} bytes, {file} of them the daemon file, and the provider takes {limit}"
    )]
    TooLarge {
        /// The least the context takes.
        needed: usize,
        /// The daemon file's size.
        file: usize,
        /// What the provider takes.
        limit: usize,
    },
    /// Every boundary that was drawn occurs in the text.
    #[error("no boundary was drawn that the text does not contain")]
    Boundary,
}

impl Context {
    /// Builds the context; `draw` draws 128 random bits and is asked again when a boundary made of
    /// them occurs in any section.
    ///
    /// When it is over the limit the support tree, the state and then the payload shrink, and
    /// nothing else.
    ///
    /// # Errors
    /// When the daemon file and the sections of fixed size do not fit, or `draw` is no generator.
    pub fn build(
        parts: &Parts<'_>,
        limits: Limits,
        mut draw: impl FnMut() -> u128,
    ) -> Result<Self, ContextError> {
        for _ in 0..MAX_DRAWS {
            let boundary = format!("{:032x}", draw());
            let mut draft = Draft::new(parts, &boundary);
            if let Some(limit) = limits.context_bytes {
                draft.shrink(limit)?;
            }
            if let Some(context) = draft.finish() {
                return Ok(context);
            }
        }
        Err(ContextError::Boundary)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes, giving up the rest.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the sections in their order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns where in the bytes the daemon file stands, whole.
    pub fn daemon_file(&self) -> Range<usize> {
        self.daemon_file.clone()
    }

    /// Returns the SHA-256 of the bytes in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the SHA-256 of the daemon file in hexadecimal.
    pub fn daemon_file_sha256(&self) -> &str {
        &self.daemon_file_sha256
    }

    /// Returns how many hidden characters were removed from text of others.
    pub const fn removed_characters(&self) -> u64 {
        self.n_removed
    }
}

/// The sections of one boundary, before they are joined.
struct Draft<'p> {
    parts: &'p Parts<'p>,
    boundary: &'p str,
    contract: Written,
    why: Written,
    remainder: Written,
    payload: Written,
    state: Written,
    support: Written,
    capability: Written,
}

impl<'p> Draft<'p> {
    fn new(parts: &'p Parts<'p>, boundary: &'p str) -> Self {
        Self {
            parts,
            boundary,
            contract: sections::contract(parts, boundary),
            why: sections::why(parts, boundary),
            remainder: sections::remainder(parts, boundary),
            payload: sections::payload(parts, sections::PAYLOAD, boundary),
            state: sections::state(&parts.state, sections::STATE, boundary),
            support: sections::support(&parts.support, sections::SUPPORT, boundary),
            capability: sections::capability(&parts.capability, boundary),
        }
    }

    fn shrink(&mut self, limit: usize) -> Result<(), ContextError> {
        let (parts, boundary) = (self.parts, self.boundary);
        if let Some(room) = self.room_for(limit, self.support.text.len()) {
            self.support = sections::support(&parts.support, room, boundary);
        }
        if let Some(room) = self.room_for(limit, self.state.text.len()) {
            self.state = sections::state(&parts.state, room, boundary);
        }
        if let Some(room) = self.room_for(limit, self.payload.text.len()) {
            self.payload = sections::payload(parts, room, boundary);
        }
        let needed = self.size();
        if needed > limit {
            return Err(ContextError::TooLarge {
                needed,
                file: parts.file.len(),
                limit,
            });
        }
        Ok(())
    }

    /// How large a section may be so that all fit; none when they do.
    fn room_for(&self, limit: usize, section: usize) -> Option<usize> {
        let over = self.size().checked_sub(limit).filter(|over| *over > 0)?;
        Some(section.saturating_sub(over))
    }

    fn size(&self) -> usize {
        let written: usize = self
            .written()
            .iter()
            .map(|written| written.text.len())
            .sum();
        let (opening, closing) = self.file_fence();
        written + opening.len() + self.parts.file.len() + closing.len()
    }

    const fn written(&self) -> [&Written; 7] {
        [
            &self.contract,
            &self.why,
            &self.remainder,
            &self.payload,
            &self.state,
            &self.support,
            &self.capability,
        ]
    }

    fn file_fence(&self) -> (String, String) {
        let boundary = self.boundary;
        (
            format!("# The daemon file\n\n<<file daemon-file {boundary}\n"),
            format!("\nfile daemon-file {boundary}>>\n\n"),
        )
    }

    /// Joins the sections; none when the boundary occurs anywhere but in the fences.
    fn finish(self) -> Option<Context> {
        let (opening, closing) = self.file_fence();
        let file = [opening.as_bytes(), self.parts.file, closing.as_bytes()].concat();
        let piece =
            |name, trust, written: &Written| (name, trust, written.text.clone().into_bytes());
        let trusted = |name, written| piece(name, Trust::Trusted, written);
        let untrusted = |name, written| piece(name, Trust::Untrusted, written);
        let pieces = [
            trusted("contract", &self.contract),
            ("daemon-file", Trust::Trusted, file),
            trusted("why", &self.why),
            trusted("remainder", &self.remainder),
            untrusted("payload", &self.payload),
            untrusted("state", &self.state),
            trusted("support-tree", &self.support),
            trusted("capability", &self.capability),
        ];
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|(.., piece)| piece)
            .copied()
            .collect();

        // The contract explains the fences and names the boundary twice.
        let n_fences: usize = self.written().iter().map(|written| written.n_fences).sum();
        let n_expected = 2 * (n_fences + 1) + 2;
        if occurrences(&bytes, self.boundary.as_bytes()) != n_expected {
            return None;
        }
        let start = self.contract.text.len() + opening.len();
        Some(Context {
            daemon_file: start..start + self.parts.file.len(),
            sha256: sha256(&bytes),
            daemon_file_sha256: sha256(self.parts.file),
            n_removed: self.written().iter().map(|written| written.n_removed).sum(),
            sections: pieces
                .iter()
                .map(|(name, trust, piece)| Section {
                    name,
                    bytes: piece.len(),
                    trust: *trust,
                })
                .collect(),
            bytes,
        })
    }
}

fn occurrences(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len())
        .filter(|window| *window == word)
        .count()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
