//! Overlays of level 3, if the kernel and the file system support them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{
    ByteCount, ExitStatus, Launch, Network, OverlayMount, Sandbox, SandboxLevel, SpawnError,
    Supervisor, Tool, UpperDirectory, VisibleUser, probe_overlays,
};

use crate::confinement::is_offered;
use crate::support::{Story, as_ordinary_user, assert_dies, exited, first_line, shell, story};

/// Directories of an overlay, of which each needs escapes in the text of mount options.
struct Layers {
    _scratch: tempfile::TempDir,
    home: PathBuf,
    mount: OverlayMount,
}

impl Layers {
    /// Returns `None` and prints a message if overlays are not supported here.
    fn new() -> Option<Self> {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().canonicalize().unwrap();
        let offered = is_offered(SandboxLevel::Isolated).then(|| probe_overlays(&home))?;
        if let Err(error) = offered {
            println!("skipped: no overlays in {}: {error}", home.display());
            // Any other reason would be a fault of this crate.
            let reasons = ["cannot make its overlay: ", "the file system keeps no "];
            let text = error.to_string();
            assert!(
                reasons.iter().any(|reason| text.starts_with(reason)),
                "{text}"
            );
            return None;
        }
        assert_eq!(
            fs::read_dir(&home).unwrap().count(),
            0,
            "the probe leaves nothing"
        );
        let made = |name: &str| {
            let path = home.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let long = format!("long {}", "/0123456789".repeat(30));
        let mount = OverlayMount {
            lower: vec![made("top:most"), made(&long)],
            upper: Some(UpperDirectory {
                directory: made("upper, 1\\2"),
                work: made("work"),
            }),
            target: home.join("place"),
        };
        for (path, text) in [
            ("0/above", "upper layer"),
            ("1/above", "lower layer"),
            ("1/changed", "old"),
            ("1/deleted", "old"),
            ("1/linked", "old"),
            ("1/kept/below/file", "old"),
            ("1/moved/file", "old"),
            ("1/replaced/file", "old"),
        ] {
            let (layer, path) = path.split_once('/').unwrap();
            let path = mount.lower[layer.parse::<usize>().unwrap()].join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tool = mount.lower[1].join("tool");
        fs::write(&tool, "#!/bin/sh\necho ran\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self {
            _scratch: scratch,
            home,
            mount,
        })
    }

    fn upper(&self) -> &Path {
        &self.mount.upper.as_ref().unwrap().directory
    }

    fn launch(&self, script: &str) -> Launch {
        let mut launch = shell(script);
        launch.cwd.clone_from(&self.mount.target);
        launch.sandbox = Sandbox::Isolated {
            readable: Vec::new(),
            writable: Vec::new(),
            overlays: vec![self.mount.clone()],
            network: Network::Shared,
            identity: VisibleUser::Same,
        };
        launch
    }

    fn run(&self, script: &str) -> Story {
        story(
            &mut Supervisor::start()
                .unwrap()
                .spawn(self.launch(script))
                .unwrap(),
        )
    }

    /// Returns the files below the lower directories.
    fn below(&self) -> Vec<BTreeMap<PathBuf, String>> {
        self.mount.lower.iter().map(|path| listed(path)).collect()
    }
}

/// Returns the content of a directory, of links without following them.
fn listed(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut acc = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let kind = metadata.file_type();
            let text = if kind.is_dir() {
                waiting.push(path.clone());
                attributes(&path).join(" ")
            } else if kind.is_char_device() {
                format!("device {}", metadata.rdev())
            } else if kind.is_symlink() {
                format!("to {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_fifo() {
                "fifo".to_owned()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            acc.insert(path.strip_prefix(root).unwrap().to_owned(), text);
        }
    }
    acc
}

/// Returns the attributes of a file with their values that hide what is below it, or look so.
fn attributes(path: &Path) -> Vec<String> {
    let mut names = vec![0; 4096];
    let length = rustix::fs::listxattr(path, &mut names).unwrap();
    let names = names[..length].split(|byte| *byte == 0);
    let names = names.filter(|name| name.ends_with(b"opaque"));
    let value = |name: &[u8]| {
        let name = std::str::from_utf8(name).unwrap();
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(path, name, &mut value).unwrap();
        format!("{name}={}", std::str::from_utf8(&value[..length]).unwrap())
    };
    names.map(value).collect()
}

fn tree<const N: usize>(entries: [(&str, &str); N]) -> BTreeMap<PathBuf, String> {
    let entries = entries.map(|(path, text)| (path.into(), text.to_owned()));
    BTreeMap::from(entries)
}

const OPAQUE: &str = "user.overlay.opaque=y";

const CHANGES: &str = "set -e; cat above; ./tool; ls; \
    printf new > changed; rm deleted; printf more >> kept/below/made; mv moved elsewhere; \
    rm -r replaced; mkdir replaced; printf new > replaced/other; ln linked link; ln -s above symlink; \
    printf '#!/bin/sh\\necho own\\n' > own; chmod 755 own; ./own; mkdir fresh; mv own fresh/own; rm fresh/own; mv fresh renamed; mkfifo fifo";

#[test]
fn an_overlay_shows_its_layers_and_only_the_upper_directory_changes() {
    as_ordinary_user("overlays::an_overlay_shows_its_layers_and_only_the_upper_directory_changes");
    let Some(layers) = Layers::new() else { return };
    let before = layers.below();
    let found = layers.run(CHANGES);
    let seen = "above changed deleted kept linked moved replaced tool";
    let mut expected = vec!["upper layer".to_owned() + "ran"];
    expected.extend(seen.split(' ').map(str::to_owned));
    expected.push("own".to_owned());
    assert_eq!(found.stdout, expected, "{found:?}");
    assert_eq!(found.other, [exited(ExitStatus::Code(0))], "{found:?}");
    assert_eq!(layers.below(), before);
    let expected = [
        ("changed", "new"),
        ("deleted", "device 0"),
        ("elsewhere", ""),
        ("elsewhere/file", "old"),
        ("fifo", "fifo"),
        ("kept", ""),
        ("kept/below", ""),
        ("kept/below/made", "more"),
        ("link", "old"),
        ("linked", "old"),
        ("moved", "device 0"),
        ("renamed", OPAQUE),
        ("replaced", OPAQUE),
        ("replaced/other", "new"),
        ("symlink", "to above"),
    ];
    assert_eq!(listed(layers.upper()), tree(expected));
    let owner = fs::symlink_metadata(layers.upper().join("changed"))
        .unwrap()
        .uid();
    assert_eq!(owner, rustix::process::geteuid().as_raw());
}

#[test]
fn later_children_continue_with_an_upper_directory() {
    as_ordinary_user("overlays::later_children_continue_with_an_upper_directory");
    let Some(layers) = Layers::new() else { return };
    fs::create_dir(layers.upper().join("before")).unwrap();
    assert_eq!(
        layers.run("rm changed; printf 1 > before/own").stderr,
        [""; 0]
    );
    let found = layers.run("cat before/own; cat changed; printf 2 >> before/own");
    assert_eq!(found.stdout, ["1"]);
    let expected = [
        ("before", ""),
        ("before/own", "12"),
        ("changed", "device 0"),
    ];
    assert_eq!(listed(layers.upper()), tree(expected));
}

#[test]
fn an_overlay_without_an_upper_directory_is_read_only() {
    let Some(mut layers) = Layers::new() else {
        return;
    };
    layers.mount.upper = None;
    let before = layers.below();
    let found = layers.run(
        "cat above; ./tool; for file in new changed; do (echo new > $file) 2> /dev/null || echo refused; done; \
         rm -f deleted 2> /dev/null || echo refused",
    );
    let expected = ["upper layerran", "refused", "refused", "refused"];
    assert_eq!(found.stdout, expected, "{found:?}");
    assert_eq!(layers.below(), before);
}

#[test]
fn the_layers_of_an_overlay_are_not_visible_by_their_own_paths() {
    let Some(layers) = Layers::new() else { return };
    let found = layers.run(
        "for path in '../upper, 1\\2' ../work ../top:most '../long '; do test -e \"$path\" && echo visible; done; \
         test -e ../place && echo place; cat /proc/self/mountinfo | grep -c overlay; \
         cat /proc/self/mountinfo | grep -e most -e upper,",
    );
    assert_eq!(found.stdout, ["place", "1"], "{found:?}");
}

/// Attempts to make what only the kernel makes in an upper directory: devices 0:0, by several calls, and an attribute.
const FORGED: &str = "chmod 700 kept; perl -e '
    my ($mknodat, $renameat, $linkat, $setxattr) = `uname -m` =~ /x86_64/ ? (259, 316, 265, 188) : (33, 276, 37, 5);
    my ($here, $made, $elsewhere) = (\"made\", \"changed\", \"../plain/made\");
    my ($kept, $name, $value) = (\"kept\", \"user.overlay.opaque\", \"y\");
    sub attempt { my $what = shift; print $what, syscall(shift @_, @_) ? \" fails\\n\" : \" works\\n\" }
    attempt(\"make\", $mknodat, -100, $here, 0020000, 0);
    attempt(\"leave\", $renameat, -100, $made, -100, $here, 4);
    attempt(\"make elsewhere\", $mknodat, -100, $elsewhere, 0020000, 0);
    attempt(\"move\", $renameat, -100, $elsewhere, -100, $here, 0);
    attempt(\"link\", $linkat, -100, $elsewhere, -100, $here, 0);
    syscall($setxattr, $kept, $name, $value, 1, 0);
'; ls kept";

#[test]
fn a_child_cannot_forge_what_an_upper_directory_means() {
    let Some(layers) = Layers::new() else { return };
    let mut launch = layers.launch(FORGED);
    let Sandbox::Isolated { writable, .. } = &mut launch.sandbox else {
        unreachable!("it is isolated");
    };
    let plain = layers.home.join("plain");
    fs::create_dir(&plain).unwrap();
    *writable = vec![plain];
    let found = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
    let expected = [
        "make fails",
        "leave fails",
        "make elsewhere works",
        "move fails",
        "link fails",
        "below",
    ];
    assert_eq!(found.stdout, expected, "{found:?}");
    let upper = layers.upper();
    let found = attributes(&upper.join("kept"));
    assert!(!found.contains(&OPAQUE.to_owned()), "{found:?}");
    let names: Vec<_> = listed(upper).into_keys().collect();
    assert_eq!(names, [PathBuf::from("kept")]);
}

#[test]
fn a_path_below_an_overlay_is_mounted_over_it() {
    let Some(layers) = Layers::new() else { return };
    let within = layers.mount.target.join("kept/below");
    fs::create_dir_all(&within).unwrap();
    fs::write(within.join("outside"), "").unwrap();
    let mut launch = layers.launch("ls kept/below; touch kept/below/made; touch kept/made");
    let Sandbox::Isolated { writable, .. } = &mut launch.sandbox else {
        unreachable!("it is isolated");
    };
    // The overlay takes the place of the directory that it covers.
    *writable = vec![layers.mount.target.clone(), within.clone()];
    let found = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
    assert_eq!(
        (found.stdout, found.stderr),
        (vec!["outside".to_owned()], Vec::new())
    );
    assert_eq!(listed(&within).len(), 2);
    assert_eq!(
        listed(layers.upper()),
        tree([("kept", ""), ("kept/made", "")])
    );
}

#[test]
fn an_ordinary_identity_changes_what_its_user_owns() {
    let Some(layers) = Layers::new() else { return };
    let mut launch = layers.launch("id -un; printf new > changed; stat -c %U changed deleted");
    let Sandbox::Isolated { identity, .. } = &mut launch.sandbox else {
        unreachable!("it is isolated");
    };
    *identity = VisibleUser::Ordinary;
    let found = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
    if rustix::process::geteuid().is_root() {
        assert_eq!(found.stdout, ["nobody"; 3], "{found:?}");
    }
    assert_eq!(listed(layers.upper()), tree([("changed", "new")]));
}

#[test]
fn an_overlay_that_cannot_be_made_is_refused_with_the_reason() {
    let Some(layers) = Layers::new() else { return };
    let check = |change: &dyn Fn(&mut OverlayMount, &mut Vec<PathBuf>), expected: &str| {
        let mut launch = layers.launch("");
        let Sandbox::Isolated {
            overlays, writable, ..
        } = &mut launch.sandbox
        else {
            unreachable!("it is isolated");
        };
        change(&mut overlays[0], writable);
        let SpawnError { source, .. } = Supervisor::start().unwrap().spawn(launch).unwrap_err();
        assert_eq!(source.to_string(), expected);
    };
    let home = layers.home.display();
    check(
        &|mount, _| mount.lower.push(layers.home.join("absent")),
        &format!("cannot open the layer `{home}/absent`: No such file or directory (os error 2)"),
    );
    check(
        &|mount, _| mount.lower = vec![layers.home.clone(); 9],
        "an overlay has too few or too many layers",
    );
    check(
        &|mount, _| {
            mount.upper = None;
            mount.lower.pop();
        },
        "an overlay has too few or too many layers",
    );
    check(
        &|_, writable| writable.push(layers.home.clone()),
        "a layer of an overlay would be writable",
    );
    check(
        &|mount, _| mount.target = "place".into(),
        "an overlay cannot be mounted at this path",
    );
    check(
        &|mount, _| mount.lower[0] = layers.home.join("top:most/above"),
        "cannot open the directories of its overlay: Not a directory (os error 20)",
    );
    check(
        &|mount, _| mount.lower[0] = mount.lower[1].join("kept"),
        "cannot make its overlay: Too many levels of symbolic links (os error 40)",
    );
}

const ROLE: &str = "DAEMON_PROCESS_TEST_OVERLAY";

/// The host that dies, if the next test starts this program again.
#[test]
fn a_host_of_an_overlay_that_kills_itself() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let layers = Layers::new().unwrap();
    let home = layers.home.clone();
    let mut child = Supervisor::start()
        .unwrap()
        .spawn(layers.launch("rm deleted; echo up; exec sleep 1000"))
        .unwrap();
    assert_eq!(first_line(&mut child), "up");
    fs::write("found", format!("{}\n{}", child.id().pid, home.display())).unwrap();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

#[test]
fn an_overlay_ends_with_the_process_that_made_it() {
    let Some(layers) = Layers::new() else { return };
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let output = Tool::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "overlays::a_host_of_an_overlay_that_kills_itself",
        ])
        .env(ROLE, "host")
        .env("TMPDIR", &layers.home)
        .cwd(&layers.home)
        .run(Duration::from_secs(60), ByteCount(10_000))
        .unwrap();
    assert_eq!(output.status, ExitStatus::Signal(9), "{output:?}");
    let found = fs::read_to_string(layers.home.join("found")).unwrap();
    let (pid, home) = found.split_once('\n').unwrap();
    assert_dies(pid);
    let upper = Path::new(home).join("upper, 1\\2");
    assert_eq!(listed(&upper), tree([("deleted", "device 0")]));
    // What the kernel made there is removed as any directory without permissions is.
    for directory in ["", "incompat", "incompat/volatile"] {
        let directory = Path::new(home).join("work/work").join(directory);
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::remove_dir_all(home).unwrap();
}
