//! The checked-out trees that are kept between runs, and which runs use them.
//!
//! A run that works in an overlay shares a tree with others: it is a lower layer that no run can reach by itself. Any other run takes a
//! tree for itself, and gives it back at its end.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use daemon_event::RepoName;
use daemon_records::error::chain;
use daemon_repo::{
    Checkout, GitError, KeptTree, Repository, TreeContent, TreeStart, TreeTrust, Worktree, encode,
    remove_tree,
};

/// The end of the name of a directory that is to be removed. The names of repositories are encoded without dots.
const GONE: &str = ".gone";

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
    /// Directories that are no trees any more. They are removed while nothing is locked.
    gone: Vec<PathBuf>,
}

#[derive(Debug)]
struct Tree {
    dir: PathBuf,
    /// `None` until it is made.
    content: Option<TreeContent>,
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
        let sparse = repository.sparse_patterns()?;
        let sparse = sparse.map(|patterns| patterns.digest());
        let wanted = TreeContent {
            commit: checkout.commit.clone(),
            sparse,
        };
        let create = |start| repository.create_worktree_from(checkout, start, dir);
        let pool = self.pool(repository.name());
        let mut locked = lock(&pool);
        // A run without a kept tree is slower, and one that cannot start is lost.
        if let Err(error) = fs::create_dir_all(&locked.dir) {
            report(&locked.dir, Err(error));
            drop(locked);
            return Ok((create(TreeStart::Empty)?, None));
        }
        let Some(mut tree) = locked.choose(&wanted, workplace, limits.most) else {
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
            (Ok(_), _) => tree.begin_use(start, wanted),
            // The layers of other runs are as they were.
            (Err(_), TreeStart::Shared(_)) => {}
            (Err(_), _) => locked.gone.extend(tree.lose()),
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
                let gone = detach(&entry.path());
                drop(pools);
                clear(gone);
            }
        }
    }

    /// Removes the trees that were not used for the longest time, until the limits are kept, and what is left of lost ones. Trees in
    /// use stay.
    pub(crate) fn trim(&self, limits: TreeLimits) {
        clear(self.detach_above(limits));
    }

    fn detach_above(&self, limits: TreeLimits) -> Vec<PathBuf> {
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
                break;
            }
        }
        let gone = free
            .iter_mut()
            .flat_map(|pool| std::mem::take(&mut pool.gone));
        gone.collect()
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
        worktree.keep(&self.dir)?;
        let content = KeptTree::at(&self.dir).content();
        let bytes = measured(&self.dir);
        let mut pool = lock(&self.pool);
        if let Some(mut tree) = pool.take(&self.dir) {
            tree.used_by = UsedBy::Overlays(0);
            tree.content = content;
            tree.trust = TreeTrust::Comparison;
            tree.bytes = bytes.unwrap_or(tree.bytes);
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
            UsedBy::Run => pool.gone.extend(tree.lose()),
        }
        pool.put(tree);
    }
}

impl Pool {
    /// Reads the trees that an earlier host kept; those that cannot be trusted are gone.
    fn load(dir: PathBuf) -> Self {
        let mut acc = Self {
            dir,
            ..Self::default()
        };
        for entry in fs::read_dir(&acc.dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let number: Option<u32> = name.to_str().and_then(|name| name.parse().ok());
            let content = KeptTree::at(&path).content();
            match (number, content) {
                (Some(number), Some(content)) => {
                    acc.next = acc.next.max(number.saturating_add(1));
                    let mut tree = Tree::new(path);
                    tree.content = Some(content);
                    tree.measure();
                    acc.trees.push(tree);
                }
                (Some(_), None) => acc.gone.extend(detach(&path)),
                (None, _) => acc.gone.push(path),
            }
        }
        acc
    }

    /// Takes the tree out of the pool that is nearest to a commit, or a new one.
    fn choose(&mut self, wanted: &TreeContent, workplace: Workplace, most: u32) -> Option<Tree> {
        let has_patterns = |tree: &Tree| {
            let content = tree.content.as_ref();
            content.is_some_and(|content| content.sparse == wanted.sparse)
        };
        let fits = |tree: &Tree| match (workplace, tree.used_by) {
            // An idle tree with the files of other patterns is made again.
            (_, UsedBy::Overlays(0)) => true,
            (Workplace::Overlay, UsedBy::Overlays(_)) => has_patterns(tree),
            (Workplace::Overlay, UsedBy::Run) | (Workplace::Directory, _) => false,
        };
        let found = self.trees.iter().filter(|tree| fits(tree));
        let found = found.max_by_key(|tree| {
            let is_there = tree.content.as_ref() == Some(wanted);
            (is_there, has_patterns(tree), tree.is_idle(), tree.last)
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
        if tree.content.is_some() || tree.used_by == UsedBy::Run {
            self.trees.push(tree);
        }
    }

    /// Removes the idle tree that was not used for the longest time; returns whether there was one.
    fn drop_oldest(&mut self) -> bool {
        let idle = self.trees.iter().filter(|tree| tree.is_idle());
        let oldest = idle.min_by_key(|tree| tree.last);
        let oldest = oldest.map(|tree| tree.dir.clone());
        let taken = oldest.and_then(|dir| self.take(&dir));
        let Some(mut taken) = taken else { return false };
        self.gone.extend(taken.lose());
        true
    }
}

impl Tree {
    fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            content: None,
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
    fn begin_use(&mut self, start: TreeStart<'_>, content: TreeContent) {
        match (start, &mut self.used_by) {
            (TreeStart::Taken(_), used_by) => *used_by = UsedBy::Run,
            (_, UsedBy::Overlays(users)) => *users += 1,
            (_, UsedBy::Run) => {}
        }
        if matches!(start, TreeStart::Idle { .. }) {
            // No run can change it while it is a lower layer.
            self.trust = TreeTrust::Index;
            if self.content.replace(content).is_none() {
                self.measure();
            }
        }
    }

    /// Gives up a tree that cannot be used any more. What is left of it is returned, and is still to be removed.
    fn lose(&mut self) -> Option<PathBuf> {
        self.content = None;
        self.used_by = UsedBy::Overlays(0);
        detach(&self.dir)
    }

    fn measure(&mut self) {
        self.bytes = measured(&self.dir).unwrap_or(self.bytes);
    }
}

/// Returns the space on disk of a tree.
fn measured(dir: &Path) -> Option<u64> {
    let size = KeptTree::at(dir).size();
    size.map_err(|error| report(dir, Err(error))).ok()
}

/// Renames a directory so that its name is free at once, and returns the new name if there is something to remove.
fn detach(dir: &Path) -> Option<PathBuf> {
    let mut gone = dir.as_os_str().to_owned();
    gone.push(GONE);
    let gone = PathBuf::from(gone);
    match fs::rename(dir, &gone) {
        Ok(()) => Some(gone),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // One of this name is still being removed.
        Err(_) => {
            clear([dir]);
            None
        }
    }
}

/// Removes directories that nothing uses.
fn clear(gone: impl IntoIterator<Item = impl AsRef<Path>>) {
    for dir in gone {
        report(dir.as_ref(), remove_tree(dir.as_ref()));
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
