//! The choice of trees, and the limits.

use super::*;

/// Returns a content: its commit is a digit; a letter is a commit with sparse patterns.
fn content(commit: char) -> TreeContent {
    TreeContent {
        commit: commit.to_string().repeat(40).parse().unwrap(),
        sparse: commit.is_alphabetic().then(|| "patterns".to_owned()),
    }
}

/// Makes a pool whose trees were used in this order, each at a commit.
fn pool(trees: &[(char, UsedBy)]) -> Pool {
    let trees = trees.iter().zip(1_u32..).map(|((digit, used_by), n)| {
        let mut tree = Tree::new(PathBuf::from(n.to_string()));
        tree.content = Some(content(*digit));
        tree.used_by = *used_by;
        tree.last = n.into();
        tree
    });
    Pool {
        dir: PathBuf::from("pool"),
        trees: trees.collect(),
        next: 9,
        gone: Vec::new(),
    }
}

#[test]
fn a_run_gets_the_tree_that_is_nearest_to_its_commit() {
    use Workplace::{Directory, Overlay};
    const IDLE: UsedBy = UsedBy::Overlays(0);
    const SHARED: UsedBy = UsedBy::Overlays(2);
    const TAKEN: UsedBy = UsedBy::Run;
    type Row = (
        &'static [(char, UsedBy)],
        Workplace,
        u32,
        Option<&'static str>,
    );
    let table: &[Row] = &[
        (&[], Overlay, 0, None),
        (&[], Overlay, 1, Some("pool/9")),
        (&[('1', IDLE), ('2', IDLE)], Overlay, 4, Some("1")),
        (&[('1', SHARED), ('2', IDLE)], Overlay, 4, Some("1")),
        (&[('3', IDLE), ('2', IDLE)], Overlay, 4, Some("2")),
        (&[('3', IDLE), ('2', SHARED)], Overlay, 4, Some("1")),
        (&[('3', SHARED), ('1', TAKEN)], Overlay, 4, Some("1")),
        (&[('1', TAKEN)], Overlay, 4, Some("pool/9")),
        (&[('1', TAKEN)], Overlay, 1, None),
        (&[('1', SHARED), ('2', IDLE)], Directory, 4, Some("2")),
        (&[('1', SHARED)], Directory, 4, Some("pool/9")),
        (&[('1', SHARED)], Directory, 1, None),
        (&[('2', IDLE), ('a', IDLE)], Overlay, 4, Some("1")),
        (&[('a', IDLE)], Overlay, 4, Some("1")),
        (&[('a', SHARED)], Overlay, 4, Some("pool/9")),
        (&[('a', SHARED)], Overlay, 1, None),
    ];
    for (trees, workplace, most, expected) in table {
        let mut pool = pool(trees);
        let found = pool.choose(&content('1'), *workplace, *most);
        let found = found.map(|tree| tree.dir);
        assert_eq!(
            found.as_deref(),
            expected.map(Path::new),
            "{trees:?} {workplace:?} {most}"
        );
    }
}

#[test]
fn trees_that_were_not_used_for_the_longest_time_go_first_and_those_in_use_stay() {
    let scratch = tempfile::tempdir().unwrap();
    let trees = Trees::new(scratch.path());
    let pools = [('1', UsedBy::Overlays(1)), ('2', UsedBy::Overlays(0))];
    let other = [('3', UsedBy::Overlays(0)), ('4', UsedBy::Overlays(0))];
    for (name, trees_of) in [("a", pools), ("b", other)] {
        let mut pool = pool(&trees_of);
        pool.trees.iter_mut().for_each(|tree| tree.bytes = 10);
        let mut all = trees.pools.lock().unwrap();
        all.insert(name.to_owned(), Arc::new(Mutex::new(pool)));
    }
    let left = || {
        let pools = trees.pools.lock().unwrap();
        let mut left: Vec<String> = Vec::new();
        for pool in pools.values() {
            let pool = lock(pool);
            let commits = pool.trees.iter().filter_map(|tree| tree.content.as_ref());
            left.extend(commits.map(|content| content.commit.as_str()[..1].to_owned()));
        }
        left.sort();
        left.concat()
    };
    let trim = |most, bytes| trees.trim(TreeLimits { most, bytes });
    trim(4, 40);
    assert_eq!(left(), "1234");
    trim(4, 35);
    assert_eq!(
        left(),
        "124",
        "the first of `b` was used before the second of `a`"
    );
    trim(1, 35);
    assert_eq!(left(), "14");
    trim(0, 0);
    assert_eq!(left(), "1");
}

#[test]
fn trees_that_are_given_up_are_removed_without_a_lock_and_also_after_a_restart() {
    let scratch = tempfile::tempdir().unwrap();
    let trees = Trees::new(scratch.path());
    let name: RepoName = "one/two".parse().unwrap();
    let dir = scratch.path().join(directory(&name));
    for name in ["1/files", "2.gone/files", "other"] {
        fs::create_dir_all(dir.join(name)).unwrap();
    }
    let names = |dir: &Path| {
        let entries = fs::read_dir(dir).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    // A tree without a commit is not trusted. Its name is free at once.
    let pool = trees.pool(&name);
    let mut locked = lock(&pool);
    assert_eq!(
        names(&dir),
        ["1.gone", "2.gone", "other"].map(str::to_owned).into()
    );
    let mut tree = Tree::new(dir.join("3"));
    tree.content = Some(content('1'));
    fs::create_dir_all(dir.join("3/files")).unwrap();
    locked.put(tree);
    assert!(locked.drop_oldest());
    assert!(names(&dir).contains("3.gone"));
    let limits = TreeLimits { most: 4, bytes: 40 };
    trees.trim(limits);
    assert_eq!(names(&dir).len(), 4, "a pool that is in use stays");
    drop(locked);
    trees.trim(limits);
    assert_eq!(names(&dir), BTreeSet::new());
    trees.forget_others([].iter());
    assert_eq!(names(scratch.path()), BTreeSet::new());
}
