//! Joins the sections, and shrinks some of them if the context is too large.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::page::RenderedSection;
use crate::parts::ContextParts;
use crate::sections;

/// How many boundaries are drawn before giving up. 128 random bits do not occur in text by chance: after
/// several draws, `draw` is not random.
const MAX_DRAWS: usize = 16;

/// The size limits of a context.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextLimits {
    /// The maximum size that the provider accepts, in bytes; `None` for no limit.
    pub context_bytes: Option<usize>,
}

/// The bytes that a provider receives for one activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivationContext {
    bytes: Vec<u8>,
    sections: Vec<Section>,
    daemon_file: Range<usize>,
    sha256: String,
    daemon_file_sha256: String,
    n_removed: u64,
}

/// The name, size and trust of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name, as in listings: `why`, `payload`.
    pub name: &'static str,
    /// The size in bytes, including headings and fences.
    pub bytes: usize,
    /// The origin of the text.
    pub trust: Trust,
}

/// The origin of a section's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Text of the runtime, the operator, the daemon's author or the repository's default branch; names from other sources are
    /// quoted.
    Trusted,
    /// Text from outside, in fences.
    Untrusted,
}

/// The error of building a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The daemon file and the sections of fixed size exceed the limit.
    #[error(
        "the context needs {needed} bytes, {file} of them the daemon file, but the provider accepts {limit}"
    )]
    TooLarge {
        /// The minimum size of the context, in bytes.
        needed: usize,
        /// The size of the daemon file, in bytes.
        file: usize,
        /// The limit of the provider, in bytes.
        limit: usize,
    },
    /// Every boundary that was drawn occurs in the text.
    #[error("every boundary that was drawn occurs in the text")]
    Boundary,
}

impl ActivationContext {
    /// Builds a context. `draw` returns 128 random bits for the boundary of the fences, and is called again if the
    /// boundary occurs in a section.
    ///
    /// A context above the limit is shrunk: first the list of support files, then the repository's instructions, then the
    /// state, then the payload. Other sections keep their size.
    ///
    /// # Errors
    /// Returns an error if the daemon file and the sections of fixed size exceed the limit, or if every boundary occurs
    /// in the text.
    pub fn build(
        parts: &ContextParts<'_>,
        limits: ContextLimits,
        mut draw: impl FnMut() -> u128,
    ) -> Result<Self, ContextError> {
        for _ in 0..MAX_DRAWS {
            let boundary = format!("{:032x}", draw());
            // Most expendable first: files can be listed and read by the run itself, the whole payload is in a file of the
            // context directory, and the daemon's own instruction is never cut.
            let mut draft = SectionSet::new(parts, &boundary);
            if let Some(limit) = limits.context_bytes {
                draft.shrink(limit)?;
            }
            if let Some(context) = draft.finish() {
                return Ok(context);
            }
        }
        Err(ContextError::Boundary)
    }

    /// Returns the context as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the context as bytes, consuming it.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the sections in their order in the bytes.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the range of the daemon file in [`Self::bytes`].
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

    /// Returns how many hidden characters were removed from untrusted text.
    pub const fn removed_characters(&self) -> u64 {
        self.n_removed
    }
}

/// The sections written with one boundary, not yet joined.
struct SectionSet<'p> {
    parts: &'p ContextParts<'p>,
    boundary: &'p str,
    contract: RenderedSection,
    instructions: Option<RenderedSection>,
    why: RenderedSection,
    checkout: Option<RenderedSection>,
    remainder: RenderedSection,
    payload: RenderedSection,
    state: RenderedSection,
    support: RenderedSection,
    capability: RenderedSection,
}

impl<'p> SectionSet<'p> {
    fn new(parts: &'p ContextParts<'p>, boundary: &'p str) -> Self {
        Self {
            parts,
            boundary,
            contract: sections::contract(parts, boundary),
            instructions: instructions(parts, sections::INSTRUCTIONS, boundary),
            why: sections::why(parts, boundary),
            checkout: parts
                .checkout
                .map(|checkout| sections::checkout(&checkout, boundary)),
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
        let shown = self.instructions.as_ref();
        let shown = shown.map_or(0, |section| section.text.len());
        if let Some(room) = self.room_for(limit, shown) {
            self.instructions = instructions(parts, room, boundary);
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

    /// Returns the size that a section may have so that all fit, or `None` if they fit already.
    fn room_for(&self, limit: usize, section: usize) -> Option<usize> {
        let over = self.size().checked_sub(limit).filter(|over| *over > 0)?;
        Some(section.saturating_sub(over))
    }

    fn size(&self) -> usize {
        let written: usize = self.written().map(|written| written.text.len()).sum();
        let (opening, closing) = self.file_fence();
        written + opening.len() + self.parts.file.len() + closing.len()
    }

    fn written(&self) -> impl Iterator<Item = &RenderedSection> {
        let always = [
            &self.contract,
            &self.why,
            &self.remainder,
            &self.payload,
            &self.state,
            &self.support,
            &self.capability,
        ];
        let optional = [&self.instructions, &self.checkout];
        always.into_iter().chain(optional.into_iter().flatten())
    }

    fn file_fence(&self) -> (String, String) {
        let boundary = self.boundary;
        (
            format!("# The daemon file\n\n<<file daemon-file {boundary}\n"),
            format!("\nfile daemon-file {boundary}>>\n\n"),
        )
    }

    /// Joins the sections. Returns `None` if the boundary occurs anywhere except in the fences.
    fn finish(self) -> Option<ActivationContext> {
        let (opening, closing) = self.file_fence();
        let file = [opening.as_bytes(), self.parts.file, closing.as_bytes()].concat();
        let piece = |name, trust, written: &RenderedSection| {
            (name, trust, written.text.clone().into_bytes())
        };
        let trusted = |name, written| Some(piece(name, Trust::Trusted, written));
        let untrusted = |name, written| Some(piece(name, Trust::Untrusted, written));
        let optional = |name, written: &Option<RenderedSection>| {
            let written = written.as_ref()?;
            Some(piece(name, Trust::Trusted, written))
        };
        let pieces = [
            trusted("contract", &self.contract),
            Some(("daemon-file", Trust::Trusted, file)),
            optional("instructions", &self.instructions),
            trusted("why", &self.why),
            optional("checkout", &self.checkout),
            trusted("remainder", &self.remainder),
            untrusted("payload", &self.payload),
            untrusted("state", &self.state),
            trusted("support-tree", &self.support),
            trusted("capability", &self.capability),
        ];
        let pieces: Vec<_> = pieces.into_iter().flatten().collect();
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|(.., piece)| piece)
            .copied()
            .collect();

        // Two lines for each fence and for the daemon file's; the contract mentions the boundary twice.
        let n_fences: usize = self.written().map(|written| written.n_fences).sum();
        let n_expected = 2 * (n_fences + 1) + 2;
        if occurrences(&bytes, self.boundary.as_bytes()) != n_expected {
            return None;
        }
        let start = self.contract.text.len() + opening.len();
        Some(ActivationContext {
            daemon_file: start..start + self.parts.file.len(),
            sha256: sha256(&bytes),
            daemon_file_sha256: sha256(self.parts.file),
            n_removed: self.written().map(|written| written.n_removed).sum(),
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

fn instructions(parts: &ContextParts<'_>, limit: usize, boundary: &str) -> Option<RenderedSection> {
    let instructions = parts.instructions?;
    Some(sections::instructions(&instructions, limit, boundary))
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
