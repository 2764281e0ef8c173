//! The target of a relative link, and the link to another target.

use std::fmt::Write as _;

/// The parts of a relative link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The path from the root of the worktree, `/` between its parts.
    pub(crate) path: String,
    /// The query and fragment, as written.
    suffix: String,
}

impl Target {
    /// Reads the destination of a link in `file`.
    ///
    /// Returns `None` for what is not a path inside the worktree: addresses, fragments, absolute paths, paths that leave it.
    pub(crate) fn parse(file: &str, destination: &str) -> Option<Self> {
        let end = destination.find(['#', '?']).unwrap_or(destination.len());
        let (path, suffix) = destination.split_at(end);
        // A colon in the first segment makes it a scheme, as in `mailto:`.
        let scheme = path
            .split('/')
            .next()
            .is_some_and(|first| first.contains(':'));
        if path.is_empty() || path.starts_with(['/', '\\']) || scheme {
            return None;
        }
        let decoded = decoded(path)?;
        let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
        let path = joined(directory, &decoded)?;
        Some(Self {
            path,
            suffix: suffix.to_owned(),
        })
    }

    /// Returns this link as it must be written in `file` to point to `path`.
    pub(crate) fn rewritten(&self, file: &str, path: &str) -> String {
        let mut from: Vec<&str> = file.split('/').collect();
        from.pop();
        let to: Vec<&str> = path.split('/').collect();
        let directories = to.len() - 1;
        let shared = from
            .iter()
            .zip(&to)
            .take(directories)
            .take_while(|(a, b)| a == b)
            .count();
        let up = std::iter::repeat_n("..", from.len() - shared);
        let parts: Vec<&str> = up.chain(to.into_iter().skip(shared)).collect();
        format!("{}{}", encoded(&parts.join("/")), self.suffix)
    }
}

fn joined(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Decodes `%NN`. Returns `None` if the result is not UTF-8.
fn decoded(path: &str) -> Option<String> {
    let mut pieces = path.split('%');
    let mut acc = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let byte = piece
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        // `from_str_radix` accepts a sign, which percent-encoding does not.
        match byte.filter(|_| !piece.starts_with('+')) {
            Some(byte) => {
                acc.push(byte);
                acc.extend_from_slice(&piece.as_bytes()[2..]);
            }
            // A `%` without two hexadecimal digits is an ordinary character.
            None => {
                acc.push(b'%');
                acc.extend_from_slice(piece.as_bytes());
            }
        }
    }
    String::from_utf8(acc)
        .ok()
        .filter(|path| !path.contains('\0'))
}

/// Escapes characters that would end the destination or change its meaning.
fn encoded(path: &str) -> String {
    let mut acc = String::with_capacity(path.len());
    for char in path.chars() {
        if char.is_whitespace() || char.is_control() || "%()<>#?:\\".contains(char) {
            for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                write!(acc, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        } else {
            acc.push(char);
        }
    }
    acc
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_paths_inside_the_worktree_are_targets() {
        let table = [
            ("setup.md", Some("docs/setup.md")),
            ("./a/../b.md#part", Some("docs/b.md")),
            ("../README.md?x#y", Some("README.md")),
            ("a%20b.md", Some("docs/a b.md")),
            ("100%.md", Some("docs/100%.md")),
            ("dir/", Some("docs/dir")),
            ("..", Some("")),
            ("../../x.md", None),
            ("#part", None),
            ("?q", None),
            ("/abs.md", None),
            ("//host/x", None),
            ("https://x.y/z.md", None),
            ("mailto:a@b.c", None),
            ("a%ff.md", None),
            ("", None),
        ];
        for (destination, path) in table {
            let target = Target::parse("docs/index.md", destination);
            assert_eq!(
                target.map(|target| target.path),
                path.map(str::to_owned),
                "{destination}"
            );
        }
    }

    #[test]
    fn a_rewritten_link_keeps_query_and_fragment() {
        let table = [
            (
                "docs/index.md",
                "old.md#a",
                "docs/guide/old.md",
                "guide/old.md#a",
            ),
            ("docs/a/b.md", "x.md", "docs/c/x.md", "../c/x.md"),
            (
                "README.md",
                "x.md?q#f",
                "a b (c).md",
                "a%20b%20%28c%29.md?q#f",
            ),
        ];
        for (file, destination, path, expected) in table {
            assert_eq!(
                Target::parse(file, destination)
                    .unwrap()
                    .rewritten(file, path),
                expected
            );
        }
    }

    proptest! {
        #[test]
        fn a_rewritten_link_points_where_it_should(
            file in "[a-c]{1,2}(/[a-c]{1,2}){0,3}",
            path in "[a-c%#() \u{e9}]{1,4}(/[a-c%?]{1,2}){0,3}",
        ) {
            let link = Target::parse(&file, "x#f").unwrap().rewritten(&file, &path);
            prop_assert_eq!(Target::parse(&file, &link).map(|target| target.path), Some(path));
        }
    }
}
