//! A run works in a repository of its own.

use std::fs;

use serde_json::json;

use crate::serve_sandbox::{configure, document, fire, inhabited, levels, program};

/// Uses git as an agent does, then tries what it may not reach of the watched repository.
const WORKS: &str = include_str!("programs/place-works.sh");

#[test]
fn git_works_for_a_run_at_every_level_and_its_changes_arrive_as_a_branch() {
    for level in [vec![1], levels()].concat() {
        let world = inhabited(&["works"]);
        world.write("docs/b.md", "two\n");
        world.commit("the second");
        world.git(&["branch", "old", "HEAD~1"]);
        let watched = world.repo.join(".git").display().to_string();
        let works = program(&world, "works", &WORKS.replace("WATCHED", &watched));
        configure(&world, &[("works", &works)], "");
        world.at_level(level);
        let host = world.serve();
        let folder = fire(&world, "works");
        assert_eq!(document(&folder)["sandbox"]["level"], level);
        let told = |name: &str| {
            let told = fs::read_to_string(folder.join("session").join(name));
            told.unwrap_or_else(|error| panic!("level {level}: {name}: {error}"))
        };
        assert_eq!(told("log"), "the second\nbegin\n", "level {level}");
        assert_eq!(told("status"), "", "level {level}");
        assert_eq!(told("refs"), "refs/heads/main\n", "level {level}");
        assert_eq!(told("base"), told("head"), "level {level}");
        assert_eq!(told("commit"), "", "level {level}");
        assert_eq!(
            told("own"),
            "works (daemon) <works@daemon.invalid> by the run\n"
        );
        assert_eq!(told("left"), " M docs/b.md\n", "level {level}");
        if level > 1 {
            let read = told("read");
            assert_eq!(
                read, "objects\n",
                "level {level}: nothing else, and to read only"
            );
        }
        let [branch] = &*world.branches() else {
            panic!("level {level}: {:?}", world.branches())
        };
        let changed = ["diff", "--name-only", "main", branch];
        assert_eq!(world.git(&changed), "docs/a.md\ndocs/b.md\n");
        let commits = ["log", "--format=%an %s", &format!("main..{branch}")];
        assert_eq!(
            world.git(&commits),
            "works (daemon) works: a person asked\nworks (daemon) by the run\n"
        );
        assert!(!world.repo.join(".git/worktrees").exists());
        assert_eq!(json!(host.stop().0), json!(0));
    }
}
