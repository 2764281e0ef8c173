//! Private keys in PEM: the first and the last line.

use std::sync::LazyLock;

use memchr::memmem::FinderRev;

use super::encoded;

/// The beginning of the first line of a private key.
pub(super) const KEY_BEGIN: &str = "-----BEGIN ";
/// The beginning of the last line of a private key.
pub(super) const KEY_END: &str = "-----END ";

/// The maximum size of a private key in bytes. Its last line is searched for within this range.
pub const MAX_KEY_BYTES: usize = 16 * 1024;

/// Returns the offset of the last private key of `text` if its last line is missing.
///
/// Returns `None` if the rest of the text is longer than a private key can be.
///
/// # Examples
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

/// Returns `true` if `text` ends with the first characters of a private key, such as `-----BE`.
pub fn ends_in_key_beginning(text: &str) -> bool {
    let parts = KEY_BEGIN.char_indices().skip(1);
    parts
        .filter_map(|(at, _)| KEY_BEGIN.get(..at))
        .any(|part| text.ends_with(part))
}

/// Returns `true` if `text` is base64 of a private key whose last line is missing.
///
/// A caller that reads line by line keeps such text, because the next line belongs to the key. Returns
/// `false` if the text is longer than a key can be.
///
/// # Examples
///
/// ```
/// // `-----BEGIN PRIVATE KEY-----`, and the same with the last line.
/// let begun = "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t";
/// assert!(daemon_validate::is_open_key_in_base64(begun));
/// assert!(!daemon_validate::is_open_key_in_base64(&format!("{begun}Ci0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K")));
/// ```
pub fn is_open_key_in_base64(text: &str) -> bool {
    encoded::is_open_key(text)
}

/// Returns the end of a private key whose first line ends at `from`.
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
    // Without a last line everything up to the limit counts as the key: removing too much is safer
    // than leaving a part of it.
    from + footer.unwrap_or(near.len())
}
