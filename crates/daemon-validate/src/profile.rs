//! Profiles: the severities of the rules.

use std::fmt;
use std::str::FromStr;

/// A set of severities for all rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The severities of the public format.
    #[default]
    Spec,
    /// The severities of the strictest known reader. It accepts files without errors under this profile.
    ///
    /// Each rule that is more severe than under [`Profile::Spec`] cites its evidence
    /// ([`RuleEntry::evidence`](crate::RuleEntry::evidence)).
    Strict,
}

impl Profile {
    /// Returns `spec` or `strict`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of a word that is not a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError {
    text: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a profile: expected `spec` or `strict`",
            self.text
        )
    }
}

impl std::error::Error for ProfileError {}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        match text {
            "spec" => Ok(Self::Spec),
            "strict" => Ok(Self::Strict),
            _ => Err(ProfileError {
                text: text.to_owned(),
            }),
        }
    }
}
