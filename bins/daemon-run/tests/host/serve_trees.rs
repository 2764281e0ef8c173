//! The trees that are kept between runs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::serve_sandbox::{configure, document, fire, levels, program};
use crate::world::{Running, World, check, until, watch};

/// Notes what it sees, waits for a word of the test, and changes the tree in several ways.
const WORKS: &str = r#"cat > /dev/null
git rev-parse HEAD > "$HOME/head"
{ git status --porcelain; git diff-files; } > "$HOME/status" 2>&1
find . -path ./.git -prune -o -type f -print | sort > "$HOME/files"
cat version > "$HOME/version"
touch "$HOME/began"
while ! [ -e "$HOME/go" ]; do sleep 0.05; done
cat version >> "$HOME/version"
echo "of $1" >> version
rm -r small
mkdir -p own/target && echo "of $1" > own/target/file && echo junk > own/junk.log
echo '{"daemon":"result","ok":true,"text":"worked"}'
"#;

/// Makes a world with a tree of some size, and one provider and daemon for each name.
fn world(names: &[&str]) -> World {
    let wakes = watch(&["when an issue is opened"]);
    let daemons: Vec<(&str, &str)> = names.iter().map(|name| (*name, wakes.as_str())).collect();
    let world = World::new(&daemons);
    world.write(".gitignore", "*.log\n");
    world.write("version", "one\n");
    world.write("small/dir/only.txt", "gone\n");
    for n in 0..200 {
        let path = format!("many/{}/{n}.txt", n % 10);
        world.write(&path, &format!("file {n}\n").repeat(8000));
    }
    world.commit("the first");
    let programs = names.iter().map(|name| {
        let body = WORKS.replace("$1", name);
        (*name, program(&world, name, &body))
    });
    let programs: Vec<_> = programs.collect();
    let providers = programs.iter().map(|(name, path)| (*name, path.as_path()));
    configure(&world, &providers.collect::<Vec<_>>(), "");
    world
}

/// Returns the space on disk of everything below a path, in bytes.
fn space(path: &Path) -> u64 {
    let own = fs::symlink_metadata(path).map_or(0, |metadata| metadata.blocks() * 512);
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    own + below.map(|entry| space(&entry.path())).sum::<u64>()
}

/// Begins a run, and returns it with its folder when its program has noted what it sees.
fn begin(world: &World, name: &str) -> (Running, PathBuf) {
    let running = world.begin(&["fire", name, "--json"]);
    let mut found = None;
    until("the program has begun", || {
        let folders = fs::read_dir(world.home.join("daemons")).expect("folders");
        let mut began = folders
            .flatten()
            .map(|entry| entry.path())
            .filter(|folder| {
                let is_of = fs::read_to_string(folder.join("daemon.json"))
                    .is_ok_and(|text| text.contains(&format!("\"{name}\"")));
                is_of
                    && folder.join("session/began").exists()
                    && !folder.join("session/go").exists()
            });
        found = began.next();
        found.is_some()
    });
    (running, found.expect("it was found"))
}

/// Lets a run work, and returns what it printed at its end.
fn end((running, folder): (Running, PathBuf)) -> Value {
    fs::write(folder.join("session/go"), "").expect("the home of the run");
    let (code, fired) = running.json();
    assert_eq!(
        (code, &fired["activation"]["state"]),
        (0, &json!("succeeded")),
        "{fired}"
    );
    fired
}

fn noted(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join("session").join(name)).expect(name)
}

/// Waits until the host knows the newest commit.
fn known(world: &World, commit: &str) {
    until("the commit is known", || {
        let commits = world.store().query_row(
            "SELECT count(*) FROM daemon WHERE commit_id = ?1",
            [commit.trim()],
            |row| row.get::<_, u32>(0),
        );
        commits.is_ok_and(|n| n > 0)
    });
}

/// Checks that a run saw exactly the files of a commit, and none of them changed while others worked.
fn saw_commit(world: &World, folder: &Path, commit: &str) {
    assert_eq!(noted(folder, "head").trim(), commit);
    assert_eq!(noted(folder, "status"), "");
    assert_eq!(document(folder)["sandbox"]["level"], 3);
    let version = world.git(&["show", &format!("{commit}:version")]);
    assert_eq!(noted(folder, "version"), version);
    let files = world.git(&["ls-tree", "-r", "--name-only", commit]);
    let seen = noted(folder, "files");
    let seen: Vec<&str> = seen.lines().map(|line| &line[2..]).collect();
    assert_eq!(seen, files.lines().collect::<Vec<_>>());
}

/// Checks the branch of a run on top of a commit with this version.
fn delivered(world: &World, name: &str, (base, version): (&String, &str)) {
    let branches = world.branches();
    let branch = branches.iter().find(|branch| branch.contains(name));
    let branch = branch.expect(name);
    let own = world.git(&["show", &format!("{branch}:version")]);
    assert_eq!(own, format!("{version}\nof {name}\n"));
    let changed = world.git(&["diff", "--name-status", base.trim(), branch]);
    let expected = "A\town/target/file\nD\tsmall/dir/only.txt\nM\tversion\n";
    assert_eq!(changed, expected);
}

#[test]
fn runs_at_once_share_a_tree_and_each_sees_its_commit_and_delivers_its_own_changes() {
    if !levels().contains(&3) {
        return;
    }
    let names = ["one", "two", "three", "four"];
    let world = world(&names);
    let host = world.serve();
    let first = world.git(&["rev-parse", "HEAD"]);
    let older_names = ["one", "two"];
    let older = older_names.map(|name| begin(&world, name));
    // The other two start at another commit, while the tree is in use.
    world.write("version", "two\n");
    world.write("fresh/file", "new\n");
    world.git(&["rm", "-r", "-q", "many/7"]);
    let second = world.commit("the second");
    known(&world, &second);
    let newer = ["three", "four"].map(|name| begin(&world, name));
    let checkout = space(&world.repo) - space(&world.repo.join(".git"));
    let used = ["trees", "worktrees"].map(|name| space(&world.home.join(name)));
    let total: u64 = used.iter().sum();
    assert!(
        total <= checkout * 12 / 10,
        "{used:?} and one checkout is {checkout}"
    );
    let runs = older
        .into_iter()
        .zip([&first; 2])
        .chain(newer.into_iter().zip([&second; 2]));
    for (run, commit) in runs {
        let folder = run.1.clone();
        saw_commit(&world, &folder, commit.trim());
        let seen = noted(&folder, "version");
        end(run);
        assert_eq!(noted(&folder, "version"), seen.repeat(2));
    }
    for name in names {
        let base = if older_names.contains(&name) {
            (&first, "one")
        } else {
            (&second, "two")
        };
        delivered(&world, name, base);
    }
    until("nothing of the runs is left", || {
        fs::read_dir(world.home.join("worktrees"))
            .expect("a directory")
            .next()
            .is_none()
    });
    assert_eq!(
        fs::read_dir(world.home.join("trees"))
            .expect("trees")
            .count(),
        1
    );
    assert_eq!(json!(host.stop().0), json!(0));
}

#[test]
fn a_tree_is_used_again_after_a_restart_and_moved_by_the_difference_at_every_level() {
    for level in levels() {
        let world = world(&["one"]);
        world.at_level(level);
        let mut host = world.serve();
        let mut inodes = Vec::new();
        for n in 0..4 {
            world.write("version", &format!("version {n}\n"));
            let commit = world.commit("the next");
            known(&world, &commit);
            let (running, folder) = begin(&world, "one");
            assert_eq!(
                noted(&folder, "head").trim(),
                commit,
                "level {level}, run {n}"
            );
            assert_eq!(noted(&folder, "status"), "", "level {level}, run {n}");
            let below = if level == 3 { "trees" } else { "worktrees" };
            let mut kept = None;
            find(&world.home.join(below), "many/5/5.txt", &mut kept);
            inodes.push(kept.expect("the tree"));
            end((running, folder));
            if n == 1 {
                host.stop();
                host = world.serve();
            }
            if n == 2 {
                host.kill();
                host = world.serve();
            }
        }
        // What the runs did not change was written once.
        inodes.dedup();
        assert_eq!(inodes.len(), 1, "level {level}");
        assert_eq!(json!(host.stop().0), json!(0));
    }
}

/// Finds a file below a directory and notes its number.
fn find(dir: &Path, name: &str, found: &mut Option<u64>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.ends_with(name) {
            true => *found = fs::metadata(&path).ok().map(|metadata| metadata.ino()),
            false => find(&path, name, found),
        }
    }
}

#[test]
fn a_run_that_may_only_read_cannot_change_what_it_sees() {
    if !levels().contains(&3) {
        return;
    }
    let world = world(&["one"]);
    let path = world.home.join("config.toml");
    let text = fs::read_to_string(&path).expect("the configuration");
    let policy = "[policy.daemon.one]\n";
    assert!(text.contains(policy), "{text}");
    let text = text.replace(policy, &format!("{policy}capability = \"read\"\n"));
    fs::write(&path, text).expect("the configuration");
    program(
        &world,
        "one",
        "cat > /dev/null\n(echo x > version) 2> /dev/null || echo refused > \"$HOME/tried\"\n\
         rm many/1/1.txt 2> /dev/null || echo refused >> \"$HOME/tried\"\n\
         git log -1 --format=%s >> \"$HOME/tried\"\n\
         echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"read\"}'\n",
    );
    let host = world.serve();
    let folder = fire(&world, "one");
    assert_eq!(noted(&folder, "tried"), "refused\nrefused\nthe first\n");
    assert_eq!(world.branches().len(), 0);
    assert_eq!(json!(host.stop().0), json!(0));
}

#[test]
fn directories_that_a_run_closed_are_read_and_removed_all_the_same() {
    for level in levels() {
        let mut world = world(&["one"]);
        world.at_level(level);
        program(
            &world,
            "one",
            "cat > /dev/null\necho two >> many/1/1.txt\nmkdir -p own/deep && echo x > own/deep/file\n\
             chmod 0 .git/info own/deep own many/1 many .\n\
             echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"closed\"}'\n",
        );
        // Root may read every directory.
        if rustix::process::geteuid().is_root() {
            world.hand_over(65_534);
        }
        let host = world.serve();
        for n in 1..=2 {
            fire(&world, "one");
            until("the work tree is gone", || {
                let left = fs::read_dir(world.home.join("worktrees")).expect("a directory");
                left.count() == 0
            });
            let trees = fs::read_dir(world.home.join("trees")).expect("trees");
            let kept = trees.flatten().flat_map(|of| fs::read_dir(of.path()));
            let kept: Vec<_> = kept.flatten().flatten().collect();
            assert_eq!(kept.len(), 1, "level {level}, run {n}: {kept:?}");
            assert!(!kept[0].path().join("files/own").exists(), "level {level}");
        }
        // The repository belongs to another user than that of the test.
        let git = |args: &[&str]| world.git(&[&["-c", "safe.directory=*"], args].concat());
        let branches = git(&["for-each-ref", "--format=%(refname)", "refs/heads/daemon"]);
        assert_eq!(branches.lines().count(), 2, "level {level}: {branches}");
        for branch in branches.lines() {
            let changed = git(&["diff", "--name-status", "main", branch]);
            let expected = "M\tmany/1/1.txt\nA\town/deep/file\n";
            assert_eq!(changed, expected, "level {level}");
        }
        assert_eq!(json!(host.stop().0), json!(0));
    }
}

#[test]
fn a_sparse_partial_clone_gives_runs_its_files_and_missing_ones_are_fetched_into_the_home() {
    let world = world(&["one"]);
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    let served = world.beside("served");
    fs::rename(&world.repo, &served).expect("the served repository");
    fs::create_dir(&world.repo).expect("the clone");
    let url = format!("file://{}", served.display());
    world.git(&["clone", "-q", "--filter=blob:none", "--sparse", &url, "."]);
    world.git(&["sparse-checkout", "set", ".agents", "small"]);
    program(
        &world,
        "one",
        "cat > /dev/null\ngit status --porcelain > \"$HOME/status\" 2>&1\nls > \"$HOME/files\"\n\
         echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"listed\"}'\n",
    );
    let packs = |dir: &Path| fs::read_dir(dir.join("objects/pack")).map_or(0, Iterator::count);
    let watched = packs(&world.repo.join(".git"));
    let fetched = || {
        let stores = fs::read_dir(world.home.join("objects")).into_iter();
        let stores = stores.flatten().flatten();
        stores.map(|store| packs(&store.path())).sum::<usize>()
    };
    let host = world.serve();
    let folder = fire(&world, "one");
    assert_eq!(noted(&folder, "status"), "");
    assert_eq!(noted(&folder, "files"), "small\nversion\n");
    assert_eq!(fetched(), 0);
    world.git(&["config", "--worktree", "core.sparseCheckout", "false"]);
    let folder = fire(&world, "one");
    assert_eq!(noted(&folder, "status"), "");
    assert_eq!(noted(&folder, "files"), "docs\nmany\nsmall\nversion\n");
    assert!(fetched() > 0);
    assert_eq!(packs(&world.repo.join(".git")), watched);
    assert_eq!(json!(host.stop().0), json!(0));
}

#[test]
fn runs_work_without_kept_trees_if_their_directory_cannot_be_used() {
    let world = world(&["one"]);
    let host = world.serve();
    end(begin(&world, "one"));
    let trees = world.home.join("trees");
    daemon_repo::remove_tree(&trees).expect("the trees");
    fs::write(&trees, "").expect("a file");
    end(begin(&world, "one"));
    assert_eq!(world.branches().len(), 2);
    assert_eq!(json!(host.stop().0), json!(0));
}

#[test]
fn trees_are_kept_within_the_limits_and_the_doctor_describes_them() {
    for (limits, expected) in [
        ("trees = 0", 0),
        ("trees_bytes = 1000", 0),
        ("trees = 1", 1),
    ] {
        let world = world(&["one"]);
        let path = world.home.join("config.toml");
        let text = fs::read_to_string(&path).expect("the configuration");
        let text = match text.contains("[limits]\n") {
            true => text.replace("[limits]\n", &format!("[limits]\n{limits}\n")),
            false => format!("{text}\n[limits]\n{limits}\n"),
        };
        fs::write(&path, text).expect("the configuration");
        let host = world.serve();
        end(begin(&world, "one"));
        let kept = || {
            let of = fs::read_dir(world.home.join("trees"))
                .expect("trees")
                .flatten();
            of.map(|of| fs::read_dir(of.path()).expect("trees").count())
                .sum::<usize>()
        };
        until("the limit is kept", || kept() == expected);
        let (_, report) = world.json(&["doctor"]);
        let trees = check(&report, "work trees");
        let detail = trees["detail"].as_str().expect("a text");
        let is_new = detail.starts_with("a new checkout");
        assert_eq!(is_new, limits == "trees = 0", "{detail}");
        assert_eq!(json!(host.stop().0), json!(0));
    }
}
