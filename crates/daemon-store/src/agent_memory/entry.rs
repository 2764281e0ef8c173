//! Entries of a memory and their bounds.

use jiff::Timestamp;

/// The longest kind, in bytes.
const MAX_KIND: usize = 64;
/// The longest name or alias, in bytes.
const MAX_NAME: usize = 256;
/// The longest content, in bytes.
const MAX_CONTENT: usize = 16 * 1024;
/// The most aliases of an entry.
const MAX_ALIASES: usize = 16;

/// What makes an entry unfit to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryProblem {
    /// The kind is empty or too long.
    #[error("a kind has 1 to {MAX_KIND} bytes")]
    Kind,
    /// The name is empty or too long.
    #[error("a name has 1 to {MAX_NAME} bytes")]
    Name,
    /// The content is empty or too long.
    #[error("content has 1 to {MAX_CONTENT} bytes")]
    Content,
    /// There are too many aliases, or one is empty or too long.
    #[error("an entry has at most {MAX_ALIASES} aliases of 1 to {MAX_NAME} bytes")]
    Aliases,
}

/// An entry of a memory, within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEntry {
    kind: String,
    name: String,
    content: String,
    aliases: Vec<String>,
}

/// An entry that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// The entry.
    pub entry: MemoryEntry,
    /// When it was kept.
    pub at: Timestamp,
}

impl MemoryEntry {
    /// Makes an entry. White space around the kind and the names is removed.
    ///
    /// # Errors
    /// A part is empty or too long.
    pub fn new(
        kind: &str,
        name: &str,
        content: &str,
        aliases: &[String],
    ) -> Result<Self, EntryProblem> {
        let trimmed = |text: &str, most: usize| {
            let text = text.trim();
            (1..=most).contains(&text.len()).then(|| text.to_owned())
        };
        let aliases: Option<Vec<String>> = (aliases.len() <= MAX_ALIASES)
            .then(|| aliases.iter().map(|alias| trimmed(alias, MAX_NAME)))
            .and_then(Iterator::collect);
        if content.trim().is_empty() || content.len() > MAX_CONTENT {
            return Err(EntryProblem::Content);
        }
        Ok(Self {
            kind: trimmed(kind, MAX_KIND).ok_or(EntryProblem::Kind)?,
            name: trimmed(name, MAX_NAME).ok_or(EntryProblem::Name)?,
            content: content.to_owned(),
            aliases: aliases.ok_or(EntryProblem::Aliases)?,
        })
    }

    /// Returns the kind, such as `person`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the name, unique within the kind.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the content.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Returns the other names under which it is found.
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryProblem, MAX_CONTENT, MAX_KIND, MAX_NAME, MemoryEntry};

    #[test]
    fn an_entry_is_kept_within_its_bounds_only() {
        let long = |most: usize| "x".repeat(most + 1);
        let check = |kind: &str, name: &str, content: &str, aliases: &[String]| {
            MemoryEntry::new(kind, name, content, aliases).map(|entry| entry.name().to_owned())
        };
        assert_eq!(check("person", " Ada ", "wrote it", &[]), Ok("Ada".into()));
        assert_eq!(check(" ", "Ada", "it", &[]), Err(EntryProblem::Kind));
        assert_eq!(
            check(&long(MAX_KIND), "Ada", "it", &[]),
            Err(EntryProblem::Kind)
        );
        assert_eq!(check("person", "", "it", &[]), Err(EntryProblem::Name));
        assert_eq!(
            check("person", &long(MAX_NAME), "it", &[]),
            Err(EntryProblem::Name)
        );
        assert_eq!(
            check("person", "Ada", "\n", &[]),
            Err(EntryProblem::Content)
        );
        let content = long(MAX_CONTENT);
        assert_eq!(
            check("person", "Ada", &content, &[]),
            Err(EntryProblem::Content)
        );
        let many = vec!["a".to_owned(); 17];
        assert_eq!(
            check("person", "Ada", "it", &many),
            Err(EntryProblem::Aliases)
        );
        let empty = [" ".to_owned()];
        assert_eq!(
            check("person", "Ada", "it", &empty),
            Err(EntryProblem::Aliases)
        );
    }
}
