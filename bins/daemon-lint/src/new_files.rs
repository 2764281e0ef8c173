//! Writing new files: all of them, or none.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file to be written where none is.
#[derive(Clone, Debug)]
pub struct NewFile<'a> {
    /// The directory, which is created if it is missing.
    pub folder: PathBuf,
    /// The name in the directory.
    pub name: &'a str,
    /// The content.
    pub text: &'a str,
}

/// A new file could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// The file or its directory.
    pub path: PathBuf,
    /// The error of the operating system; `AlreadyExists` if something has the name.
    pub source: io::Error,
}

/// Writes files and the directories that they need, and returns the paths of the files.
///
/// # Errors
///
/// Returns an error if a file exists or cannot be written. None of the files and of the new directories is there then.
pub fn write_new(files: &[NewFile<'_>]) -> Result<Vec<PathBuf>, WriteError> {
    let mut made = Made::default();
    // Every file has its content before the first one gets its name: a full disk must not leave a daemon without its tests.
    let contents: Result<Vec<_>, _> = files.iter().map(|file| made.content(file)).collect();
    let named = contents.and_then(|contents| {
        let pairs = contents.into_iter().zip(files);
        pairs
            .map(|(content, file)| made.name(content, file))
            .collect()
    });
    if named.is_err() {
        made.remove();
    }
    named
}

/// What was made so far.
#[derive(Default)]
struct Made {
    /// Outer directories come first.
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn content(&mut self, file: &NewFile<'_>) -> Result<NamedTempFile, WriteError> {
        let folder = &file.folder;
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|path| !path.exists())
            .collect();
        self.directories
            .extend(missing.into_iter().rev().map(Path::to_owned));
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let write = || {
            let mut builder = tempfile::Builder::new();
            builder.prefix(".daemon-lint-");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                // What the umask of the user allows, as for every new file.
                builder.permissions(fs::Permissions::from_mode(0o666));
            }
            let mut new = builder.tempfile_in(folder)?;
            // By the file itself, whose errors do not name the temporary path.
            new.as_file_mut().write_all(file.text.as_bytes())?;
            new.as_file().sync_all()?;
            Ok(new)
        };
        write().map_err(failed(&folder.join(file.name)))
    }

    fn name(&mut self, content: NamedTempFile, file: &NewFile<'_>) -> Result<PathBuf, WriteError> {
        let path = file.folder.join(file.name);
        // Fails if the file exists, also if another process has created it meanwhile.
        let named = content.persist_noclobber(&path);
        named.map_err(|error| failed(&path)(error.error))?;
        self.files.push(path.clone());
        Ok(path)
    }

    /// Removes the files, and the new directories that are empty then. The error that led here is the useful one.
    fn remove(self) {
        for path in self.files {
            fs::remove_file(path).unwrap_or(());
        }
        for path in self.directories.into_iter().rev() {
            fs::remove_dir(path).unwrap_or(());
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_owned();
    move |source| WriteError { path, source }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt as _;

    use super::{NewFile, write_new};

    #[test]
    fn all_files_are_written_or_none_and_no_directory_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let file = |folder: &str, name: &'static str| NewFile {
            folder: root.join(folder),
            name,
            text: "text",
        };
        fs::create_dir(root.join("kept")).unwrap();
        fs::write(root.join("kept/theirs"), "theirs").unwrap();
        let refused = write_new(&[file("a/b", "one"), file("kept", "theirs")]).unwrap_err();
        assert_eq!(refused.source.kind(), ErrorKind::AlreadyExists);
        assert_eq!(refused.path, root.join("kept/theirs"));
        assert!(!root.join("a").exists());
        assert_eq!(fs::read_dir(root.join("kept")).unwrap().count(), 1);
        // A name that is too long can be written only under the temporary one.
        let long: &'static str = Box::leak("n".repeat(300).into_boxed_str());
        write_new(&[file("a/b", "one"), file("kept", long)]).unwrap_err();
        assert!(!root.join("a").exists());
        assert_eq!(
            fs::read_to_string(root.join("kept/theirs")).unwrap(),
            "theirs"
        );
        let written = write_new(&[file("a/b", "one"), file("kept", "two")]).unwrap();
        assert_eq!(written, [root.join("a/b/one"), root.join("kept/two")]);
        // The usual mode, and not that of a temporary file.
        fs::write(root.join("usual"), "").unwrap();
        let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode();
        assert_eq!(mode("a/b/one"), mode("usual"));
    }
}
