//! The checked-out trees that are kept between runs, and which runs use them.
//!
//! A run that works in an overlay shares a tree with others: it is a lower layer that no run can reach by itself. Any other run takes a
//! tree for itself, and gives it back at its end.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use daemon_event::RepoName;
use daemon_records::error::chain;
use daemon_repo::{
    Checkout, GitError, KeptTree, ObjectId, Repository, TreeStart, TreeTrust, Worktree, encode,
    remove_tree,
};

/// How many trees are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// The most of one repository; with 0, every run gets a checkout of its own.
    pub most: u32,
    /// The most space on disk that the trees of all repositories take, in bytes. A tree is measured when it is made.
    pub bytes: u64,
}

/// Where a run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workplace {
    /// In an overlay above a tree.
    Overlay,
    /// In a directory of its own.
    Directory,
}

/// The kept trees of a host.
#[derive(Debug)]
pub struct Trees {
    root: PathBuf,
    pools: Mutex<HashMap<String, Arc<Mutex<Pool>>>>,
    /// Counts the uses.
    clock: AtomicU64,
}

/// The trees of one repository. It is locked while a tree is brought to a commit, so that the next run finds that tree.
#[derive(Debug, Default)]
struct Pool {
    dir: PathBuf,
    trees: Vec<Tree>,
    /// The number of the next tree.
    next: u32,
}

#[derive(Debug)]
struct Tree {
    dir: PathBuf,
    commit: Option<ObjectId>,
    used_by: UsedBy,
    /// The number of its last use.
    last: u64,
    bytes: u64,
    trust: TreeTrust,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UsedBy {
    /// This many runs in overlays.
    Overlays(u32),
    /// One run that has its files.
    Run,
}

/// The use of a kept tree by a run. If it is dropped before [`TreeUse::end`], a tree that the run took is lost.
#[derive(Debug)]
pub(crate) struct TreeUse {
    pool: Arc<Mutex<Pool>>,
    dir: PathBuf,
}

impl Trees {
    /// Keeps trees in a directory; those that it has are used again.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            pools: Mutex::default(),
            clock: AtomicU64::new(1),
        }
    }

    /// Creates a work tree from a kept tree, as far as the limits permit one.
    ///
    /// # Errors
    /// git failed, or the file system.
    pub(crate) fn worktree(
        &self,
        (repository, checkout): (&Repository, &Checkout),
        workplace: Workplace,
        limits: TreeLimits,
        dir: &Path,
    ) -> Result<(Worktree, Option<TreeUse>), GitError> {
        let create = |start| repository.create_worktree_from(checkout, start, dir);
        let pool = self.pool(repository.name());
        let mut locked = lock(&pool);
        let Some(mut tree) = locked.choose(&checkout.commit, workplace, limits.most) else {
            drop(locked);
            return Ok((create(TreeStart::Empty)?, None));
        };
        let kept = tree.dir.clone();
        let start = match (workplace, tree.used_by) {
            (Workplace::Directory, _) => TreeStart::Taken(&kept),
            (Workplace::Overlay, UsedBy::Overlays(0)) => TreeStart::Idle {
                kept: &kept,
                trust: tree.trust,
            },
            (Workplace::Overlay, _) => TreeStart::Shared(&kept),
        };
        let created = create(start);
        match (&created, start) {
            (Ok(_), _) => tree.begin_use(start, &checkout.commit),
            // The layers of other runs are as they were.
            (Err(_), TreeStart::Shared(_)) => {}
            (Err(_), _) => tree.lose(),
        }
        tree.last = self.clock.fetch_add(1, Ordering::Relaxed);
        locked.put(tree);
        drop(locked);
        Ok((created?, Some(TreeUse { pool, dir: kept })))
    }

    /// Removes the trees of repositories that are not among these.
    pub fn forget_others<'a>(&self, repositories: impl Iterator<Item = &'a RepoName>) {
        let known: BTreeSet<String> = repositories.map(directory).collect();
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_in_use = || {
                let pools = self.pools.lock().expect("no holder panics");
                let pool = pools.get(&name).cloned();
                pool.is_some_and(|pool| !lock(&pool).trees.iter().all(Tree::is_idle))
            };
            if !known.contains(&name) && !is_in_use() {
                let mut pools = self.pools.lock().expect("no holder panics");
                pools.remove(&name);
                report(&entry.path(), remove_tree(&entry.path()));
            }
        }
    }

    /// Removes the trees that were not used for the longest time, until the limits are kept. Trees in use stay.
    pub(crate) fn trim(&self, limits: TreeLimits) {
        let pools = self.pools.lock().expect("no holder panics");
        // A pool that is locked is in use, and trimmed at the end of that use.
        let mut free: Vec<_> = pools
            .values()
            .filter_map(|pool| pool.try_lock().ok())
            .collect();
        let most = usize::try_from(limits.most).unwrap_or(usize::MAX);
        for pool in &mut free {
            while pool.trees.len() > most && pool.drop_oldest() {}
        }
        let total = |free: &[MutexGuard<'_, Pool>]| -> u64 {
            let trees = free.iter().flat_map(|pool| &pool.trees);
            trees.map(|tree| tree.bytes).sum()
        };
        while total(&free) > limits.bytes {
            let oldest = free.iter_mut().min_by_key(|pool| {
                let idle = pool.trees.iter().filter(|tree| tree.is_idle());
                idle.map(|tree| tree.last).min().unwrap_or(u64::MAX)
            });
            if !oldest.is_some_and(|pool| pool.drop_oldest()) {
                return;
            }
        }
    }

    fn pool(&self, repository: &RepoName) -> Arc<Mutex<Pool>> {
        let name = directory(repository);
        let mut pools = self.pools.lock().expect("no holder panics");
        let pool = pools.entry(name).or_insert_with_key(|name| {
            let pool = Pool::load(self.root.join(name));
            Arc::new(Mutex::new(pool))
        });
        Arc::clone(pool)
    }
}

impl TreeUse {
    /// Ends the use by a run whose processes have ended, and removes its work tree.
    ///
    /// # Errors
    /// git failed, or the file system; the work tree may remain in part.
    pub(crate) fn end(self, worktree: Worktree) -> Result<(), GitError> {
        if worktree.layers().is_some() {
            return worktree.remove();
        }
        let base = worktree.base().clone();
        worktree.keep(&self.dir)?;
        let mut pool = lock(&self.pool);
        if let Some(mut tree) = pool.take(&self.dir) {
            tree.used_by = UsedBy::Overlays(0);
            tree.commit = Some(base);
            tree.trust = TreeTrust::Comparison;
            tree.measure();
            pool.put(tree);
        }
        Ok(())
    }
}

impl Drop for TreeUse {
    fn drop(&mut self) {
        let mut pool = lock(&self.pool);
        let Some(mut tree) = pool.take(&self.dir) else {
            return;
        };
        match &mut tree.used_by {
            UsedBy::Overlays(users) => *users = users.saturating_sub(1),
            UsedBy::Run => tree.lose(),
        }
        pool.put(tree);
    }
}

impl Pool {
    /// Reads the trees that an earlier host kept, and removes those that cannot be trusted.
    fn load(dir: PathBuf) -> Self {
        let mut acc = Self {
            dir,
            ..Self::default()
        };
        for entry in fs::read_dir(&acc.dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let number: Option<u32> = name.to_str().and_then(|name| name.parse().ok());
            let commit = KeptTree::at(&path).commit();
            match (number, commit) {
                (Some(number), Some(commit)) => {
                    acc.next = acc.next.max(number.saturating_add(1));
                    let mut tree = Tree::new(path);
                    tree.commit = Some(commit);
                    tree.measure();
                    acc.trees.push(tree);
                }
                _ => report(&path, remove_tree(&path)),
            }
        }
        acc
    }

    /// Takes the tree out of the pool that is nearest to a commit, or a new one.
    fn choose(&mut self, commit: &ObjectId, workplace: Workplace, most: u32) -> Option<Tree> {
        let fits = |tree: &Tree| match workplace {
            Workplace::Overlay => tree.used_by != UsedBy::Run,
            Workplace::Directory => tree.is_idle(),
        };
        let found = self.trees.iter().filter(|tree| fits(tree));
        let found = found.max_by_key(|tree| {
            let is_there = tree.commit.as_ref() == Some(commit);
            (is_there, tree.is_idle(), tree.last)
        });
        let found = found.map(|tree| tree.dir.clone());
        match found {
            Some(dir) => self.take(&dir),
            None if self.trees.len() < usize::try_from(most).unwrap_or(usize::MAX) => {
                let number = self.next;
                self.next = number.saturating_add(1);
                Some(Tree::new(self.dir.join(number.to_string())))
            }
            None => None,
        }
    }

    fn take(&mut self, dir: &Path) -> Option<Tree> {
        let index = self.trees.iter().position(|tree| tree.dir == dir)?;
        Some(self.trees.swap_remove(index))
    }

    /// Puts a tree back, unless it was lost.
    fn put(&mut self, tree: Tree) {
        if tree.commit.is_some() || tree.used_by == UsedBy::Run {
            self.trees.push(tree);
        }
    }

    /// Removes the idle tree that was not used for the longest time; returns whether there was one.
    fn drop_oldest(&mut self) -> bool {
        let idle = self.trees.iter().filter(|tree| tree.is_idle());
        let oldest = idle.min_by_key(|tree| tree.last);
        let oldest = oldest.map(|tree| tree.dir.clone());
        let taken = oldest.and_then(|dir| self.take(&dir));
        taken.map(|mut tree| tree.lose()).is_some()
    }
}

impl Tree {
    fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            commit: None,
            used_by: UsedBy::Overlays(0),
            last: 0,
            bytes: 0,
            trust: TreeTrust::Comparison,
        }
    }

    fn is_idle(&self) -> bool {
        self.used_by == UsedBy::Overlays(0)
    }

    /// Records that a work tree was made from it.
    fn begin_use(&mut self, start: TreeStart<'_>, commit: &ObjectId) {
        match (start, &mut self.used_by) {
            (TreeStart::Taken(_), used_by) => *used_by = UsedBy::Run,
            (_, UsedBy::Overlays(users)) => *users += 1,
            (_, UsedBy::Run) => {}
        }
        if matches!(start, TreeStart::Idle { .. }) {
            // No run can change it while it is a lower layer.
            self.trust = TreeTrust::Index;
            if self.commit.replace(commit.clone()).is_none() {
                self.measure();
            }
        }
    }

    /// Removes what is left of a tree that cannot be used any more.
    fn lose(&mut self) {
        self.commit = None;
        self.used_by = UsedBy::Overlays(0);
        report(&self.dir, remove_tree(&self.dir));
    }

    fn measure(&mut self) {
        match KeptTree::at(&self.dir).size() {
            Ok(bytes) => self.bytes = bytes,
            Err(error) => report(&self.dir, Err(error)),
        }
    }
}

fn lock(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().expect("no holder panics")
}

/// Returns the name of the directory of a repository's trees.
fn directory(repository: &RepoName) -> String {
    encode(&repository.folded())
}

fn report(dir: &Path, done: io::Result<()>) {
    if let Err(error) = done {
        tracing::warn!(dir = %dir.display(), error = chain(&error), "a kept tree");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: char) -> ObjectId {
        digit.to_string().repeat(40).parse().unwrap()
    }

    /// Makes a pool whose trees were used in this order, each at a commit.
    fn pool(trees: &[(char, UsedBy)]) -> Pool {
        let trees = trees.iter().zip(1_u32..).map(|((digit, used_by), n)| {
            let mut tree = Tree::new(PathBuf::from(n.to_string()));
            tree.commit = Some(commit(*digit));
            tree.used_by = *used_by;
            tree.last = n.into();
            tree
        });
        Pool {
            dir: PathBuf::from("pool"),
            trees: trees.collect(),
            next: 9,
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
        ];
        for (trees, workplace, most, expected) in table {
            let mut pool = pool(trees);
            let found = pool.choose(&commit('1'), *workplace, *most);
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
                let commits = pool.trees.iter().filter_map(|tree| tree.commit.as_ref());
                left.extend(commits.map(|commit| commit.as_str()[..1].to_owned()));
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
}
