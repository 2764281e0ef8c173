//! Where symbolic links of a support tree lead: the one answer of the linter and of the host.

use std::collections::VecDeque;

/// The most links on the way from one link to what it leads to, as in the kernel.
const MAX_HOPS: usize = 40;

/// Follows the links of a path until none is on the way; returns the path that is left.
///
/// Paths begin at the root of the repository and have `/` between their parts. `target` returns the target of the link at a
/// path; it is asked for paths without links on the way, and returns `None` where no link is. `None` is returned for a path that
/// leaves the repository at any step, leads through an absolute link or into `.git`, or never ends.
///
/// # Examples
///
/// ```
/// use daemon_validate::resolve_link;
///
/// let target = |path: &[u8]| match path {
///     b"docs/alias.md" => Some(b"../notes/style.md".to_vec()),
///     b"notes/out.md" => Some(b"../../secret".to_vec()),
///     _ => None,
/// };
/// assert_eq!(resolve_link(b"docs/alias.md", target), Some(b"notes/style.md".to_vec()));
/// assert_eq!(resolve_link(b"notes/out.md", target), None);
/// ```
#[must_use]
pub fn resolve_link(
    path: &[u8],
    mut target: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let parts = |path: &[u8]| -> Vec<Vec<u8>> {
        path.split(|byte| *byte == b'/')
            .map(<[u8]>::to_vec)
            .collect()
    };
    let mut ahead: VecDeque<Vec<u8>> = parts(path).into();
    let mut behind: Vec<Vec<u8>> = Vec::new();
    let mut n_hops = 0;
    while let Some(part) = ahead.pop_front() {
        match part.as_slice() {
            b"" | b"." => continue,
            b".." => {
                behind.pop()?;
                continue;
            }
            // What git keeps there is no part of the repository's content.
            part if part.eq_ignore_ascii_case(b".git") => return None,
            _ => behind.push(part),
        }
        let Some(target) = target(&behind.join(&b'/')) else {
            continue;
        };
        n_hops += 1;
        if n_hops > MAX_HOPS || target.first() == Some(&b'/') {
            return None;
        }
        behind.pop();
        for part in parts(&target).into_iter().rev() {
            ahead.push_front(part);
        }
    }
    Some(behind.join(&b'/'))
}

/// Reports whether a directory is on the way to a path, so that a link at the path which leads to it never ends.
#[must_use]
pub fn holds(directory: &[u8], path: &[u8]) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_links_end_inside_or_nowhere() {
        let links: [(&str, &str); 11] = [
            ("a/inside", "b.md"),
            ("a/chain", "../c/inside"),
            ("c/inside", "../a/inside"),
            ("d", "c"),
            ("a/up", "../d/../e.md"),
            ("a/out", "../../x"),
            ("a/chain-out", "out"),
            ("a/absolute", "/r/a/b.md"),
            ("a/loop", "pool"),
            ("a/pool", "loop"),
            ("a/git", "../.GIT/config"),
        ];
        let target = |path: &[u8]| {
            let mut links = links.iter();
            let found = links.find(|(link, _)| link.as_bytes() == path);
            found.map(|(_, target)| target.as_bytes().to_vec())
        };
        let table = [
            ("a/b.md", Some("a/b.md")),
            ("a/inside", Some("a/b.md")),
            ("a/chain", Some("a/b.md")),
            ("d/inside", Some("a/b.md")),
            ("a/up", Some("e.md")),
            ("a/out", None),
            ("a/chain-out", None),
            ("a/absolute", None),
            ("a/loop", None),
            ("a/git", None),
        ];
        for (path, expected) in table {
            let found = resolve_link(path.as_bytes(), target);
            let expected = expected.map(|path| path.as_bytes().to_vec());
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn a_chain_has_forty_links_at_the_most() {
        let next = |path: &[u8]| {
            let n: u32 = std::str::from_utf8(path).ok()?.parse().ok()?;
            (n > 0).then(|| (n - 1).to_string().into_bytes())
        };
        assert_eq!(resolve_link(b"40", next), Some(b"0".to_vec()));
        assert_eq!(resolve_link(b"41", next), None);
    }

    #[test]
    fn a_directory_holds_what_is_below_it() {
        let table = [
            ("", "a", true),
            ("a", "a/b", true),
            ("a", "ab", false),
            ("a", "a", false),
        ];
        for (directory, path, expected) in table {
            assert_eq!(holds(directory.as_bytes(), path.as_bytes()), expected);
        }
    }
}
