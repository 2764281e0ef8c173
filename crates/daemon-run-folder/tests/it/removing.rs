//! Folders that go.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_run_folder::{Folder, Removal};

use crate::kit::{Home, start};

fn names(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.daemons()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_folder_is_removed_as_a_whole_and_only_without_a_writer() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    assert_eq!(folder.remove().unwrap(), Removal::Live);
    assert_eq!(
        Folder::list(&home.daemons()).unwrap(),
        std::slice::from_ref(&folder)
    );
    drop(writer);
    let locked = folder.session().join("cache");
    fs::create_dir_all(&locked).unwrap();
    fs::write(locked.join("file"), "x").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(folder.remove().unwrap(), Removal::Removed);
    assert_eq!(folder.remove().unwrap(), Removal::Absent);
    assert_eq!(names(&home), [""; 0]);
}

#[test]
fn a_half_removed_folder_is_not_a_run_and_is_removed_later() {
    let home = Home::new();
    let folder = home.run(start()).folder().clone();
    let leaving = home.daemons().join(format!(".removed-{}", folder.id()));
    fs::rename(folder.path(), &leaving).unwrap();
    fs::create_dir(home.daemons().join(".removed-by-a-person")).unwrap();
    assert_eq!(Folder::list(&home.daemons()).unwrap(), []);
    Folder::remove_leavings(&home.daemons()).unwrap();
    assert_eq!(names(&home), [".removed-by-a-person"]);
}
