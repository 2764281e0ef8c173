//! An open document and what was found in it.

use std::path::{Path, PathBuf};

use daemon_cron::Zone;
use daemon_lint::{CheckedFile, FileInput, check_files, support_entries};
use daemon_spec::{DaemonFile, Span};
use daemon_validate::SupportEntry;
use jiff::Timestamp;
use lsp_types::{Position, Range, Uri};

use crate::position::{Encoding, LineTable};

/// An open document.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    place: DaemonPlace,
    text: String,
    /// The entries of the daemon's directory when the document was opened or saved.
    support: Vec<SupportEntry>,
    lines: LineTable,
    checked: CheckedFile,
}

/// Where a daemon file is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DaemonPlace {
    /// The root of the repository, or the directory of the file if it is in no `.agents/daemons`.
    root: PathBuf,
    /// The directory of the file.
    directory: PathBuf,
    /// The path relative to the root, with `/` between its parts.
    path: String,
    /// The name of the directory.
    id: String,
}

impl DaemonPlace {
    fn of(file: &Path) -> Option<Self> {
        let directory = file.parent()?;
        let id = directory.file_name()?.to_str()?.to_owned();
        let daemons = directory.parent();
        let root = daemons
            .filter(|daemons| daemons.ends_with(".agents/daemons"))
            .and_then(|daemons| daemons.parent()?.parent())
            .unwrap_or(directory);
        let parts = file.strip_prefix(root).ok()?.components();
        let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
        Some(Self {
            root: root.to_owned(),
            directory: directory.to_owned(),
            path: parts?.join("/"),
            id,
        })
    }
}

impl OpenDocument {
    /// Opens a document; `None` if its address names no file that can be a daemon.
    pub(crate) fn open(
        (uri, version): (Uri, i32),
        text: String,
        encoding: Encoding,
        check: &FileCheck<'_>,
    ) -> Option<Self> {
        let place = DaemonPlace::of(&path_of(&uri)?)?;
        let support = support_entries(&place.directory, Some(&place.root));
        let lines = LineTable::new(&text, encoding);
        let checked = check.run(&place, &text, &support)?;
        Some(Self {
            uri,
            version,
            place,
            text,
            support,
            lines,
            checked,
        })
    }

    /// Replaces the text. It is checked by [`check`](Self::check).
    pub(crate) fn change(&mut self, version: i32, text: String) {
        (self.version, self.text) = (version, text);
    }

    /// Reads the entries of the daemon's directory again.
    pub(crate) fn saved(&mut self) {
        self.support = support_entries(&self.place.directory, Some(&self.place.root));
    }

    /// Checks the text.
    pub(crate) fn check(&mut self, encoding: Encoding, check: &FileCheck<'_>) {
        self.lines = LineTable::new(&self.text, encoding);
        if let Some(checked) = check.run(&self.place, &self.text, &self.support) {
            self.checked = checked;
        }
    }

    /// Returns the checked text, to which all spans belong.
    pub(crate) fn text(&self) -> &str {
        self.checked.file.source().text().unwrap_or_default()
    }

    pub(crate) fn file(&self) -> &DaemonFile {
        &self.checked.file
    }

    pub(crate) fn checked(&self) -> &CheckedFile {
        &self.checked
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.place.directory
    }

    pub(crate) fn root(&self) -> &Path {
        &self.place.root
    }

    pub(crate) fn id(&self) -> &str {
        &self.place.id
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        self.lines.range(self.text(), span)
    }

    pub(crate) fn byte(&self, position: Position) -> Option<usize> {
        self.lines.byte(self.text(), position)
    }

    /// Returns the line of an offset, without its end, and where it begins.
    pub(crate) fn line(&self, byte: usize) -> (usize, &str) {
        self.lines.line(self.text(), byte)
    }
}

/// The time and the zones with which files are checked.
pub(crate) struct FileCheck<'c> {
    pub(crate) now: Timestamp,
    pub(crate) zone: &'c dyn Fn(&Path, &str) -> Zone,
}

impl FileCheck<'_> {
    fn run(
        &self,
        place: &DaemonPlace,
        text: &str,
        support: &[SupportEntry],
    ) -> Option<CheckedFile> {
        let input = FileInput {
            path: place.path.clone(),
            directory: place.id.clone(),
            bytes: text.as_bytes().to_vec(),
            support: support.to_vec(),
            zone: (self.zone)(&place.root, &place.id),
        };
        check_files(vec![input], self.now).pop()
    }
}

/// Returns the path of a `file` address.
pub(crate) fn path_of(uri: &Uri) -> Option<PathBuf> {
    if !uri.scheme()?.as_str().eq_ignore_ascii_case("file") {
        return None;
    }
    let path = uri.path().as_estr().decode().into_string().ok()?;
    Some(PathBuf::from(path.as_ref()))
}

/// Returns the `file` address of a path.
pub(crate) fn uri_of(path: &Path) -> Option<Uri> {
    let mut address = "file://".to_owned();
    for byte in path.to_str()?.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                address.push(char::from(byte));
            }
            _ => {
                address.push('%');
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(u32::from(digit), 16);
                    address.push(digit.unwrap_or_default().to_ascii_uppercase());
                }
            }
        }
    }
    address.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_its_path_name_the_same_file() {
        let path = Path::new("/a b/\u{e9}%/.agents/daemons/x/DAEMON.md");
        let uri = uri_of(path).unwrap();
        assert_eq!(
            uri.as_str(),
            "file:///a%20b/%C3%A9%25/.agents/daemons/x/DAEMON.md"
        );
        assert_eq!(path_of(&uri).as_deref(), Some(path));
        assert_eq!(path_of(&"untitled:Untitled-1".parse().unwrap()), None);
    }

    #[test]
    fn the_place_of_a_daemon_is_relative_to_its_repository() {
        let place = |path: &str| {
            let place = DaemonPlace::of(Path::new(path)).unwrap();
            (
                place.root.to_str().unwrap().to_owned(),
                place.path,
                place.id,
            )
        };
        let row =
            |root: &str, path: &str, id: &str| (root.to_owned(), path.to_owned(), id.to_owned());
        assert_eq!(
            place("/r/.agents/daemons/tidy/DAEMON.md"),
            row("/r", ".agents/daemons/tidy/DAEMON.md", "tidy")
        );
        assert_eq!(
            place("/r/tidy/DAEMON.md"),
            row("/r/tidy", "DAEMON.md", "tidy")
        );
    }
}
