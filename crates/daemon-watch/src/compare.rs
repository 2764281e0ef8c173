//! Comparison of strings from events with strings from conditions.

use daemon_event::Field;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// How far two spellings may differ and still be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folding {
    /// Byte for byte: branches, tags and paths.
    None,
    /// Ignoring case: labels, names, channels.
    Case,
    /// Ignoring case, blanks, hyphens and underscores: services spell the same state differently.
    Words,
    /// Ignoring case, a leading `@` and a trailing `[bot]`.
    Login,
}

impl Folding {
    pub(crate) fn of(field: Field) -> Self {
        match field {
            // git distinguishes `Main` from `main`, so ignoring case would match another branch.
            Field::Base
            | Field::Head
            | Field::Branch
            | Field::Tag
            | Field::Ref
            | Field::ChangedFiles
            | Field::AddedFiles
            | Field::CommentPath
            | Field::RemovedFiles
            | Field::After => Self::None,
            // The sender `dependabot[bot]` is written `dependabot` or `@dependabot` by authors.
            Field::Author
            | Field::ParentAuthor
            | Field::Actor
            | Field::Assignee
            | Field::Assignees
            | Field::Reviewer => Self::Login,
            // Linear spells `In Progress` and GitHub `changes_requested`; authors write either with blanks or hyphens.
            Field::State
            | Field::StateType
            | Field::StateReason
            | Field::Health
            | Field::Priority
            | Field::Conclusion
            | Field::ReviewState
            | Field::Changed
            | Field::Level
            | Field::Severity
            | Field::Substatus
            | Field::Team
            | Field::ReviewerTeam
            | Field::Reaction
            | Field::AuthorAssociation
            | Field::ParentAuthorAssociation => Self::Words,
            // `bug fix` and `bugfix` are two labels, so only case is ignored for the rest.
            _ => Self::Case,
        }
    }

    /// Returns the characters that count, folded.
    pub(crate) fn chars(self, text: &str) -> impl Iterator<Item = char> + '_ {
        let text = match self {
            Self::Login => {
                let text = text.strip_prefix('@').unwrap_or(text);
                text.strip_suffix("[bot]").unwrap_or(text)
            }
            Self::None | Self::Case | Self::Words => text,
        };
        text.chars()
            .filter(move |c| self != Self::Words || !matches!(c, ' ' | '-' | '_' | ':'))
            .flat_map(move |c| {
                let lower = if self == Self::None {
                    None
                } else {
                    Some(c.to_lowercase())
                };
                let same = if self == Self::None { Some(c) } else { None };
                lower.into_iter().flatten().chain(same)
            })
    }
}

/// Whether two strings are equal under a folding.
pub(crate) fn same(a: &str, b: &str, folding: Folding) -> bool {
    folding.chars(a).eq(folding.chars(b))
}

/// Whether a string begins with another under a folding.
pub(crate) fn begins_with(text: &str, wanted: &str, folding: Folding) -> bool {
    let mut chars = folding.chars(text);
    folding.chars(wanted).all(|c| chars.next() == Some(c))
}

/// Whether a string contains another, ignoring case, without allocating.
pub(crate) fn contains_folded(text: &str, wanted: &str) -> bool {
    if wanted.is_empty() {
        return true;
    }
    // `str::to_lowercase` would allocate for every comment that is compared.
    let lower = |text: &str| -> bool {
        let mut left = Folding::Case.chars(text);
        Folding::Case.chars(wanted).all(|c| left.next() == Some(c))
    };
    text.char_indices().any(|(at, _)| lower(&text[at..]))
}

/// Whether a line of the text begins with the command and ends it at a word boundary.
pub(crate) fn is_command_in(command: &str, text: &str) -> bool {
    text.lines().any(|line| {
        let mut rest = line.trim_start().chars();
        let begins = command.chars().all(|c| {
            rest.next()
                .is_some_and(|got| got.to_lowercase().eq(c.to_lowercase()))
        });
        // Without the boundary `/merge` would match `/merged`.
        begins
            && !rest
                .next()
                .is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_')
    })
}

/// Builds a set of globs: `*` stays in one directory, `**` crosses, no slash means any depth, and a
/// trailing slash means everything below.
pub(crate) fn glob_set<'a>(globs: impl Iterator<Item = &'a str>, folding: Folding) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let pattern = path_pattern(glob);
        let built = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .case_insensitive(folding != Folding::None)
            .build()
            // `[` alone is no glob. It is matched literally, so the condition can still wake for a file of that name.
            .or_else(|_not_a_glob| GlobBuilder::new(&globset::escape(glob)).build());
        if let Ok(built) = built {
            set.add(built);
        }
    }
    set.build().unwrap_or_default()
}

/// The longest glob that is compiled; longer ones match themselves only.
pub(crate) const LONGEST_GLOB: usize = 512;

pub(crate) fn path_pattern(glob: &str) -> String {
    // Longer patterns compile to large automata, and one line can contain many of them.
    if glob.len() > LONGEST_GLOB {
        return globset::escape(glob);
    }
    let glob = glob
        .strip_prefix("./")
        .unwrap_or(glob)
        .trim_start_matches('/');
    let mut pattern = String::new();
    let bare = glob.trim_end_matches('/');
    // `*.md` means Markdown files in any folder, as in `.gitignore`.
    if !bare.contains('/') && !bare.contains("**") && !glob.ends_with('/') {
        pattern.push_str("**/");
    }
    // A run of `**/` says no more than one of them, and costs a matcher a great deal more.
    let mut rest = glob;
    while let Some(at) = rest.find("**/**/") {
        pattern.push_str(&rest[..at]);
        rest = &rest[at + 3..];
    }
    pattern.push_str(rest);
    if glob.ends_with('/') {
        pattern.push_str("**");
    }
    pattern
}
