//! Private keys in PEM: where one begins, where it ends, and whether its end is missing.

use std::sync::LazyLock;

use memchr::memmem::FinderRev;

use super::encoded;

/// What the first line of a private key begins with.
pub(super) const KEY_BEGIN: &str = "-----BEGIN ";
/// What its last line begins with.
pub(super) const KEY_END: &str = "-----END ";

/// The most bytes of a private key that are searched for its last line.
pub const MAX_KEY_BYTES: usize = 16 * 1024;

/// Returns where the last private key of a text begins, if its last line is missing and it is no longer than a key.
///
/// ```
/// assert_eq!(daemon_validate::open_key("key: -----BEGIN PRIVATE KEY-----"), Some(5));
/// assert_eq!(daemon_validate::open_key("-----BEGIN PRIVATE KEY----- -----END PRIVATE KEY-----"), None);
/// ```
pub fn open_key(text: &str) -> Option<usize> {
    static FINDER: LazyLock<FinderRev<'_>> = LazyLock::new(|| FinderRev::new(KEY_BEGIN));
    let begin = FINDER.rfind(text)?;
    let key = text.get(begin..).unwrap_or_default();
    (key.len() <= MAX_KEY_BYTES && !key.contains(KEY_END)).then_some(begin)
}

/// Reports whether a text ends within the first characters of a private key, such as `-----BE`.
pub fn ends_in_key_beginning(text: &str) -> bool {
    let parts = KEY_BEGIN.char_indices().skip(1);
    parts
        .filter_map(|(at, _)| KEY_BEGIN.get(..at))
        .any(|part| text.ends_with(part))
}

/// Reports whether a text is base64 that begins with a private key whose last line is missing.
///
/// A caller that reads a text line by line keeps such a text: the next line belongs to the key. Returns `false` for a text longer
/// than a key.
///
/// ```
/// // `-----BEGIN PRIVATE KEY-----`, and the same with its last line.
/// let begun = "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t";
/// assert!(daemon_validate::is_open_key_in_base64(begun));
/// assert!(!daemon_validate::is_open_key_in_base64(&format!("{begun}Ci0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K")));
/// ```
pub fn is_open_key_in_base64(text: &str) -> bool {
    encoded::is_open_key(text)
}

/// Returns where a private key whose first line ends at `from` is over.
pub(super) fn end_of_key(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let mut most = rest.len().min(MAX_KEY_BYTES);
    while !rest.is_char_boundary(most) {
        most -= 1;
    }
    let near = rest.get(..most).unwrap_or_default();
    let footer = near.find(KEY_END).and_then(|at| {
        let after = at + KEY_END.len();
        let line = near.get(after..)?;
        line.find("-----").map(|end| after + end + "-----".len())
    });
    from + footer.unwrap_or(near.len())
}
