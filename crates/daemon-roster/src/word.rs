//! Enums that are written as one word each.

/// Implements `ALL`, `as_str`, `Display` and `FromStr` from one table, so that the words of an enum are listed once.
macro_rules! words {
    ($name:ident, $what:literal, { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns the word for this value, as rows and messages spell it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = daemon_event::InvalidId;

            fn from_str(text: &str) -> Result<Self, daemon_event::InvalidId> {
                Self::ALL
                    .into_iter()
                    .find(|value| value.as_str() == text)
                    .ok_or_else(|| daemon_event::InvalidId::new(text, $what))
            }
        }
    };
}

pub(crate) use words;
