//! What a host can deliver to, and where it delivers nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use daemon_event::InvalidId;

use super::OutputVerb;

/// The surfaces that a host serves.
#[derive(Clone, Debug, Default)]
pub struct ServedSurfaces {
    /// Their names.
    pub names: BTreeSet<String>,
    /// Whether the host acts as a GitHub App, which some verbs need.
    pub has_app: bool,
    /// The branches that no run pushes to, in addition to the default branch.
    pub protected: Vec<BranchPattern>,
}

impl ServedSurfaces {
    /// Reports whether no run may push to a branch; the name is full.
    pub fn is_protected(&self, branch: &str) -> bool {
        self.protected.iter().any(|pattern| pattern.covers(branch))
    }

    /// Reports whether the host's credentials permit a verb.
    pub fn permit(&self, verb: OutputVerb) -> bool {
        self.has_app || !verb.row().needs_app
    }
}

/// A branch by its name, or with `*` at the end all whose names begin so, such as `release/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPattern(String);

impl BranchPattern {
    /// Reports whether a branch is meant; the name is full, such as `refs/heads/release/2`.
    pub fn covers(&self, full_name: &str) -> bool {
        let name = full_name.strip_prefix("refs/heads/");
        name.is_some_and(|name| match self.0.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == self.0,
        })
    }
}

impl FromStr for BranchPattern {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let name = text.strip_suffix('*').unwrap_or(text);
        let is_refused =
            |char: char| char.is_whitespace() || char.is_control() || "*?[\\^~:".contains(char);
        if text.is_empty() || name.starts_with("refs/") || name.contains(is_refused) {
            let form = "the short name of a branch, such as `main`, or the beginning of some, such as `release/*`";
            return Err(InvalidId::new(text, form));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for BranchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::BranchPattern;

    #[test]
    fn a_pattern_covers_a_branch_or_all_with_a_prefix() {
        let covers = |pattern: &str, name: &str| {
            let pattern: BranchPattern = pattern.parse().unwrap();
            pattern.covers(&format!("refs/heads/{name}"))
        };
        assert!(covers("release", "release") && !covers("release", "release/2"));
        assert!(covers("release/*", "release/2") && !covers("release/*", "release"));
        assert!(covers("*", "topic"));
        let tag: BranchPattern = "*".parse().unwrap();
        assert!(!tag.covers("refs/tags/v1"));
    }

    #[test]
    fn other_globs_and_full_names_are_refused() {
        for text in ["", "refs/heads/main", "re*se", "a b", "v?", "[ab]"] {
            assert!(text.parse::<BranchPattern>().is_err(), "{text}");
        }
    }
}
