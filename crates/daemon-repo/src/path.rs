//! Paths inside a repository.

use std::fmt;
use std::str::FromStr;

use daemon_validate::is_unseen;

use crate::object::InvalidName;

/// A relative path that cannot leave its directory.
///
/// It is not empty, has at most 4,096 bytes of UTF-8 without control characters, and no component is empty, `.`, `..`, `.git` or what some
/// file system takes for `.git`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreePath(Box<str>);

impl TreePath {
    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of components.
    pub fn depth(&self) -> usize {
        self.0.split('/').count()
    }

    /// Returns the path as the least particular file system compares it, to be compared with what a program must not write.
    pub fn folded(&self) -> String {
        let parts: Vec<String> = self.0.split('/').map(folded).collect();
        parts.join("/")
    }

    /// Converts the bytes of a path as stored by git.
    ///
    /// # Errors
    /// Returns [`InvalidName`] for a path that breaks the rules, or that is not UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidName> {
        String::from_utf8_lossy(bytes).parse()
    }
}

impl FromStr for TreePath {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        // Invalid UTF-8 arrives as the replacement character, so a path with that character is rejected.
        let is_part = |part: &str| {
            !matches!(part, "" | "." | "..") && !matches!(&*folded(part), ".git" | "git~1")
        };
        let fits = text.len() <= 4096
            && !text.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER)
            && text.split('/').all(is_part);
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName::new(text, "a relative path"))
        }
    }
}

/// Returns a name as the least particular file system compares it: without regard to case, as HFS+ without characters that are not
/// shown, and as NTFS without dots and spaces at the end and without the name of a stream.
fn folded(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return name.to_owned();
    }
    let shown: String = name
        .chars()
        .filter(|c| !is_unseen(*c) && !matches!(c, '\u{200c}' | '\u{200d}'))
        .collect();
    let (file, _) = shown.split_once(':').unwrap_or((&shown, ""));
    // To upper case first: characters that have only that in common, such as the long s, are one to some file systems.
    let folded = file.to_uppercase().to_lowercase();
    folded.trim_end_matches(['.', ' ']).to_owned()
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_directory() {
        let refused: [&[u8]; 17] = [
            b"",
            b"/a",
            b"a/",
            b"a//b",
            b"../a",
            b"a/../b",
            b"./a",
            b"a/.git/config",
            b".GIT/hooks",
            b".git./hooks",
            b"git~1/hooks",
            b".git::$INDEX_ALLOCATION/hooks",
            ".g\u{200c}it/hooks".as_bytes(),
            b"a/.git ",
            b"a\nb",
            b"a\xff",
            b"a\0b",
        ];
        for bytes in refused {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(
                TreePath::from_bytes(bytes),
                Err(InvalidName::new(&text, "a relative path"))
            );
        }
        for text in ["a", "-rf", "a/..b/c.git", "\u{e9}/\u{1f41e}"] {
            assert_eq!(
                text.parse::<TreePath>().map(|path| path.to_string()),
                Ok(text.to_owned())
            );
        }
    }
}
