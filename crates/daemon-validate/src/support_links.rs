//! Resolution of symbolic links in support trees. The linter and the host share it, so that both
//! accept the same links.

use std::collections::VecDeque;

// The kernel follows as many links before it fails with `ELOOP`.
const MAX_HOPS: usize = 40;

/// Resolves all symbolic links of a path.
///
/// Paths are relative to the root of the repository, with `/` between their parts. `target` returns
/// the target of the link at a path, or `None` if the path is not a link. It is only called with paths
/// whose parents are resolved.
///
/// Returns `None` if the path leaves the repository at any step, leads through an absolute link or into
/// `.git`, or has more than 40 links.
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
            // `.git` is not part of the repository's content, and its name can differ in case on some
            // file systems.
            part if part.eq_ignore_ascii_case(b".git") => return None,
            _ => behind.push(part),
        }
        let Some(target) = target(&behind.join(&b'/')) else {
            continue;
        };
        // A repository is checked out at different places, so an absolute link has no fixed meaning.
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

/// Returns `true` if `path` is below `directory`. A link at `path` to such a directory is a cycle.
#[must_use]
pub fn is_ancestor(directory: &[u8], path: &[u8]) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_links_resolves_to_a_path_of_the_repository_or_fails() {
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
    fn a_chain_has_at_most_forty_links() {
        let next = |path: &[u8]| {
            let n: u32 = std::str::from_utf8(path).ok()?.parse().ok()?;
            (n > 0).then(|| (n - 1).to_string().into_bytes())
        };
        assert_eq!(resolve_link(b"40", next), Some(b"0".to_vec()));
        assert_eq!(resolve_link(b"41", next), None);
    }

    #[test]
    fn a_directory_is_the_ancestor_of_paths_below_it() {
        let table = [
            ("", "a", true),
            ("a", "a/b", true),
            ("a", "ab", false),
            ("a", "a", false),
        ];
        for (directory, path, expected) in table {
            assert_eq!(is_ancestor(directory.as_bytes(), path.as_bytes()), expected);
        }
    }
}
