use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::*;

/// A directory in which programs are installed in many ways.
struct Place {
    _scratch: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        Self {
            _scratch: scratch,
            root,
        }
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns what is granted of a program, relative to the place; what is outside of it is left out.
    fn granted(&self, program: &Path, search: &str) -> Vec<String> {
        let search = OsString::from(search.replace("ROOT", self.root.to_str().unwrap()));
        let granted = grants(&program.canonicalize().unwrap(), &search, &[]).unwrap();
        let own = granted
            .iter()
            .filter_map(|path| path.strip_prefix(&self.root).ok());
        own.map(|path| path.display().to_string()).collect()
    }
}

/// A source that counts how often it is read.
struct Counted<'a> {
    text: &'a [u8],
    n_reads: &'a Cell<u32>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.n_reads.set(self.n_reads.get() + 1);
        self.text.read(buffer)
    }
}

#[test]
fn a_manifest_is_read_in_a_few_pieces() {
    let n_reads = Cell::new(0);
    let text = format!(r#"{{"bin": "{}"}}"#, "x".repeat(5_000));
    let text = text.as_bytes();
    let read = read_json(Counted {
        text,
        n_reads: &n_reads,
    });
    assert_eq!(read, serde_json::from_slice(text).ok());
    assert!(n_reads.get() < 20, "it is read {} times", n_reads.get());
}

#[test]
fn of_a_file_without_a_package_only_the_file_is_granted() {
    let place = Place::new();
    place.file("secret", "");
    let script = place.file("reviewer.sh", "#!/bin/sh\n");
    assert_eq!(place.granted(&script, "/usr/bin"), ["reviewer.sh"]);
    let usual = grants(&PathBuf::from("/usr/bin/env"), OsStr::new(""), &[]);
    assert_eq!(usual, Ok(vec![PathBuf::from("/usr/bin/env")]));
}

#[test]
fn a_package_is_granted_with_its_siblings_and_its_interpreter() {
    let place = Place::new();
    place.file("project/package.json", r#"{"bin": "./tool/run.js"}"#);
    place.file("project/bin/node", "");
    let local = place.file("project/tool/run.js", "#!/usr/bin/env -S A=1 node --flag\n");
    assert_eq!(
        place.granted(&local, "ROOT/absent:ROOT/project/bin"),
        [
            "project/tool/run.js",
            "project",
            "project/bin/node",
            "project/bin/node"
        ]
    );
    let version = ".nvm/versions/node/v22.1.0";
    place.file(&format!("{version}/bin/node"), "");
    let agent = place.file(
        &format!("{version}/lib/node_modules/@maker/agent/node_modules/part/cli.js"),
        "#!/usr/bin/env node\n",
    );
    place.file(
        &format!("{version}/lib/node_modules/@maker/agent/package.json"),
        "{}",
    );
    let link = place.root.join("agent");
    symlink(&agent, &link).unwrap();
    assert_eq!(
        place.granted(&link, &format!("ROOT/{version}/bin")),
        [
            agent.strip_prefix(&place.root).unwrap().to_str().unwrap(),
            &format!("{version}/lib/node_modules"),
            &format!("{version}/bin/node"),
            version,
            &format!("{version}/bin/node"),
            version,
        ]
    );
}

#[test]
fn a_virtual_environment_is_granted_with_the_interpreter_that_it_links_to() {
    let place = Place::new();
    let real = place.file("uv/python/cpython-3.12.1-linux/bin/python3.12", "");
    place.file("venvs/aider/pyvenv.cfg", "");
    let python = place.root.join("venvs/aider/bin/python");
    fs::create_dir_all(python.parent().unwrap()).unwrap();
    symlink(&real, &python).unwrap();
    let script = place.file(
        "venvs/aider/bin/aider",
        &format!("#!{}\n", python.display()),
    );
    assert_eq!(
        place.granted(&script, ""),
        [
            "venvs/aider/bin/aider",
            "venvs/aider",
            "venvs/aider/bin/python",
            "venvs/aider",
            "uv/python/cpython-3.12.1-linux/bin/python3.12",
            "uv/python/cpython-3.12.1-linux",
        ]
    );
}

#[test]
fn the_directory_of_a_version_is_known_by_its_name() {
    for (file, expected) in [
        (
            "/u/.nvm/versions/node/v22.1.0/bin/node",
            Some("/u/.nvm/versions/node/v22.1.0"),
        ),
        (
            "/u/fnm/node-versions/v22.1.0/installation/bin/node",
            Some("/u/fnm/node-versions/v22.1.0"),
        ),
        (
            "/u/.pyenv/versions/3.12.1/bin/python3",
            Some("/u/.pyenv/versions/3.12.1"),
        ),
        (
            "/u/.asdf/installs/nodejs/22.1.0/bin/node",
            Some("/u/.asdf/installs/nodejs/22.1.0"),
        ),
        (
            "/u/.volta/tools/image/node/22.1.0/bin/node",
            Some("/u/.volta/tools/image/node/22.1.0"),
        ),
        (
            "/u/uv/python/cpython-3.12.1-linux/bin/python3.12",
            Some("/u/uv/python/cpython-3.12.1-linux"),
        ),
        (
            "/u/.sdkman/candidates/java/21.0-tem/bin/java",
            Some("/u/.sdkman/candidates/java/21.0-tem"),
        ),
        ("/u/site-3.example.com/bin/agent.sh", None),
        ("/u/versions/site-3.example.com/bin/agent.sh", None),
        ("/u/2026.11/bin/agent.sh", None),
        ("/u/versions/current/bin/agent.sh", None),
        ("/u/.local/bin/node", None),
        ("/u/bin/node", None),
        ("/u/1.0/node", None),
        ("/usr/bin/node", None),
    ] {
        assert_eq!(version(Path::new(file)), expected.map(Path::new), "{file}");
    }
}

#[test]
fn a_package_that_contains_a_guarded_path_or_ssh_keys_is_refused() {
    let place = Place::new();
    place.file(
        "u/package.json",
        r#"{"bin": {"review": "scripts/reviewer.sh"}}"#,
    );
    let script = place.file("u/scripts/reviewer.sh", "#!/bin/sh\n");
    let secret = place.file("u/etc/secret", "");
    let refused = |path: &Path| {
        let guarded = Guarded {
            path: path.to_owned(),
            what: "the secret".to_owned(),
        };
        let refused = grants(&script, OsStr::new(""), &[guarded]);
        refused.err().map(|error| error.to_string())
    };
    let directory = place.root.join("u").display().to_string();
    let message = format!(
        "`{directory}`, which its runs may read, holds the secret `{}`: use a directory of its own",
        secret.display()
    );
    assert_eq!(refused(&secret), Some(message));
    assert_eq!(refused(&place.root), None);
    place.file("u/.ssh/id", "");
    let error = refused(&place.root).unwrap();
    assert!(error.contains("holds a user's SSH keys `"), "{error}");
}

#[test]
fn a_manifest_in_a_world_writable_directory_makes_no_package() {
    let place = Place::new();
    place.file("open/package.json", r#"{"bin": "mine/run.sh"}"#);
    let script = place.file("open/mine/run.sh", "#!/bin/sh\n");
    fs::set_permissions(place.root.join("open"), fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(place.granted(&script, ""), ["open/mine/run.sh"]);
}

#[test]
fn a_program_belongs_to_the_package_of_the_manifest_in_its_directory_or_that_names_it() {
    for (manifest, text, program, is_package) in [
        ("package.json", "{}", "run.sh", true),
        ("package.json", "{}", "bin/run.sh", false),
        (
            "package.json",
            r#"{"bin": "other.sh"}"#,
            "bin/run.sh",
            false,
        ),
        (
            "package.json",
            r#"{"bin": "bin/run.sh"}"#,
            "bin/run.sh",
            true,
        ),
        (
            "package.json",
            r#"{"bin": {"a": "x", "b": "./bin/run.sh"}}"#,
            "bin/run.sh",
            true,
        ),
        ("package.json", "no JSON", "bin/run.sh", false),
        ("package.json", "no JSON", "run.sh", true),
        ("pyproject.toml", "", "run.py", true),
        ("pyproject.toml", "", "bin/run.py", false),
        ("pyvenv.cfg", "", "bin/run", false),
    ] {
        let place = Place::new();
        place.file(&format!("u/{manifest}"), text);
        let path = format!("u/{program}");
        let script = place.file(&path, "#!/bin/sh\n");
        let mut expected = vec![path.as_str()];
        expected.extend(is_package.then_some("u"));
        assert_eq!(
            place.granted(&script, ""),
            expected,
            "{manifest} {text} {program}"
        );
    }
    let place = Place::new();
    place.file("u/pyproject.toml", "");
    place.file("u/src/tool/__init__.py", "");
    let module = place.file("u/src/tool/run.py", "#!/bin/sh\n");
    assert_eq!(place.granted(&module, ""), ["u/src/tool/run.py", "u"]);
}

#[test]
fn a_manifest_in_a_home_that_has_nothing_to_do_with_a_program_does_not_refuse_it() {
    let place = Place::new();
    place.file("u/package.json", r#"{"dependencies": {"left-pad": "1"}}"#);
    let secret = place.file("u/.ssh/id", "");
    let script = place.file("u/bin/reviewer.sh", "#!/bin/sh\n");
    let guarded = Guarded {
        path: secret,
        what: "the secret".to_owned(),
    };
    let granted = grants(&script, OsStr::new(""), &[guarded]).unwrap();
    assert!(granted.contains(&script), "{granted:?}");
    assert!(!granted.contains(&place.root.join("u")), "{granted:?}");
}
