//! Bare repositories, recognised without git.

use std::ffi::OsStr;
use std::path::Path;

/// Returns the bare repository that a directory is, or is in.
///
/// The parts are those by which git recognises one. A `.git` directory is no bare repository: its working tree is around it.
pub fn bare_repository(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|path| {
        path.file_name() != Some(OsStr::new(".git"))
            && path.join("HEAD").is_file()
            && path.join("objects").is_dir()
            && path.join("refs").is_dir()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::bare_repository;

    #[test]
    fn the_directories_of_git_are_told_from_working_trees() {
        let scratch = tempfile::tempdir().unwrap();
        for directory in ["bare.git", "tree/.git"] {
            let directory = scratch.path().join(directory);
            fs::create_dir_all(directory.join("objects/pack")).unwrap();
            fs::create_dir_all(directory.join("refs")).unwrap();
            fs::write(directory.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        let bare = scratch.path().join("bare.git");
        assert_eq!(bare_repository(&bare), Some(&*bare));
        assert_eq!(bare_repository(&bare.join("objects/pack")), Some(&*bare));
        for tree in ["tree", "tree/.git", "tree/.git/objects"] {
            assert_eq!(bare_repository(&scratch.path().join(tree)), None, "{tree}");
        }
    }
}
