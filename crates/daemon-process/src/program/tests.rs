use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn script(path: &Path) {
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_bare_name_is_found_in_the_first_absolute_directory_that_has_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    for name in ["a", "b"] {
        fs::create_dir(home.join(name)).unwrap();
    }
    fs::write(home.join("a/tool"), "not executable").unwrap();
    script(&home.join("b/tool"));
    let search = format!(".::{0}/a:{0}/b", home.display());
    assert_eq!(
        resolve_program("tool", OsStr::new(&search), &[]).unwrap(),
        home.join("b/tool")
    );
}

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    script(&home.join("tool"));
    fs::write(home.join("plain"), "").unwrap();
    fs::create_dir(home.join("outside")).unwrap();
    symlink(home.join("tool"), home.join("outside/link")).unwrap();
    let h = home.display();
    let table = [
        (
            "absent",
            "no executable file `absent` in the search path".to_owned(),
        ),
        (
            "./tool",
            "program `./tool` is neither a bare name nor an absolute path".to_owned(),
        ),
        (
            "",
            "program `` is neither a bare name nor an absolute path".to_owned(),
        ),
        (
            &*format!("{h}/plain"),
            format!("`{h}/plain` is not an executable file"),
        ),
        (
            &*format!("{h}/outside"),
            format!("`{h}/outside` is not an executable file"),
        ),
        (&*format!("{h}/none"), format!("cannot read `{h}/none`")),
        (
            &*format!("{h}/outside/link"),
            format!("`{h}/tool` is inside `{h}`, whose files may not be executed"),
        ),
    ];
    for (program, message) in table {
        let error = resolve_program(program, OsStr::new("/usr/bin:/bin"), &[&home]).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}
