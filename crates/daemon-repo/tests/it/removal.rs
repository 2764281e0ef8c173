//! Removing what runs leave.

use std::fs;
use std::os::unix::fs::symlink;

use crate::scratch::Scratch;

#[test]
fn a_directory_deeper_than_a_path_is_removed() {
    let scratch = Scratch::new();
    let top = scratch.next_to("top");
    fs::create_dir_all(top.join("link-to")).unwrap();
    fs::write(scratch.next_to("outside"), "outside\n").unwrap();
    symlink(scratch.next_to("outside"), top.join("link-to/out")).unwrap();
    fs::write(top.join(".0"), "a name that the removal would use").unwrap();
    fs::create_dir_all(top.join(".1/.0/.1")).unwrap();
    let mut at = fs::File::open(&top).unwrap();
    // More than the usual limit of open files, too.
    for n in 0..3_000 {
        let mode = rustix::fs::Mode::from_raw_mode(0o755);
        rustix::fs::mkdirat(&at, "directory", mode).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::RDONLY;
        let below = rustix::fs::openat(&at, "directory", flags, mode).unwrap();
        if n % 100 == 0 {
            rustix::fs::fchmod(&at, rustix::fs::Mode::from_raw_mode(0o500)).unwrap();
        }
        at = below.into();
    }
    daemon_repo::remove_tree(&top).unwrap();
    assert!(!top.exists());
    assert!(scratch.next_to("outside").exists());
}
