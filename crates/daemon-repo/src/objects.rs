//! Reads trees and blobs from the object database.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::discover::{Discovery, DiscoveryPlan, FileRead};
use crate::error::{GitError, GitProblem};
use crate::links::{self, ListedTree};
use crate::object::ObjectId;
use crate::repository::Repository;
use crate::tree::{EntryKind, RawEntry, parse_listing};

/// The total size of the blobs requested from one process, in bytes; below the limit of its output.
const BATCH_BYTES: u64 = 32 << 20;

/// The longest target of a link in bytes, as in the kernel.
const MAX_TARGET: u64 = 4096;

/// Contents of blobs by object name.
pub(crate) type Blobs = HashMap<ObjectId, Arc<[u8]>>;

impl Repository {
    /// Reads the daemons of a commit: one listing, then all files in one batch.
    ///
    /// Reads only objects, not the work tree, and runs no filter. Links of support trees are followed within the commit, and no
    /// others.
    ///
    /// # Errors
    /// Returns [`GitError`] if the commit does not exist or git fails.
    pub fn discover(&self, commit: &ObjectId) -> Result<Discovery, GitError> {
        let call = self
            .call("ls-tree")
            .args(["-r", "-z", "-l", "--full-tree"])
            .operand(commit.as_str())
            .arg(".agents");
        let malformed = call.error(GitProblem::Malformed {
            what: "a listing of a tree",
        });
        let mut entries = parse_listing(&call.stdout()?).ok_or(malformed)?;
        // The whole tree is listed only if a link needs it: most repositories have no links in support trees.
        if links::is_any(&entries) {
            entries = links::follow(entries, &mut self.listed(commit)?).entries;
        }
        let plan = DiscoveryPlan::new(entries);
        let wanted = plan
            .wanted()
            .filter_map(|entry| Some((entry.object.as_ref()?, entry.size)));
        let blobs = self.blobs(wanted)?;
        Ok(plan.finish(|entry| {
            let object = entry.object.clone().expect("a listing names every object");
            match blobs.get(&object) {
                Some(bytes) => FileRead::Blob(object, Arc::clone(bytes)),
                None => FileRead::Unopened(object),
            }
        }))
    }

    /// Lists the whole tree of a commit and reads the targets of its links.
    fn listed(&self, commit: &ObjectId) -> Result<ListedTree, GitError> {
        let call = self
            .call("ls-tree")
            .args(["-r", "-z", "-l", "--full-tree"])
            .operand(commit.as_str());
        let malformed = call.error(GitProblem::Malformed {
            what: "a listing of a tree",
        });
        let entries = parse_listing(&call.stdout()?).ok_or(malformed)?;
        let links = entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::Symlink && entry.size <= MAX_TARGET);
        let links: Vec<_> = links
            .filter_map(|entry| Some((entry, entry.object.as_ref()?)))
            .collect();
        let blobs = self.blobs(links.iter().map(|(entry, object)| (*object, entry.size)))?;
        let targets = links
            .iter()
            .filter_map(|(entry, object)| Some((entry.path.clone(), blobs.get(object)?.to_vec())))
            .collect();
        let by_path = |entry: RawEntry| (entry.path.clone(), entry);
        Ok(ListedTree {
            targets,
            entries: entries.into_iter().map(by_path).collect(),
        })
    }

    /// Reads blobs of known sizes. A blob that is not in the repository is missing from the result.
    pub(crate) fn blobs<'a>(
        &self,
        wanted: impl Iterator<Item = (&'a ObjectId, u64)>,
    ) -> Result<Blobs, GitError> {
        let mut blobs = Blobs::new();
        let mut batch = String::new();
        let mut expected = 0;
        let mut asked = BTreeSet::new();
        for (object, size) in wanted {
            if !asked.insert(object) {
                continue;
            }
            // The sum of a batch stays below the output limit, so that a batch never fails for its size.
            if expected + size > BATCH_BYTES && !batch.is_empty() {
                self.read_batch(std::mem::take(&mut batch), &mut blobs)?;
                expected = 0;
            }
            batch.push_str(object.as_str());
            batch.push('\n');
            expected += size;
        }
        if !batch.is_empty() {
            self.read_batch(batch, &mut blobs)?;
        }
        Ok(blobs)
    }

    fn read_batch(&self, batch: String, blobs: &mut Blobs) -> Result<(), GitError> {
        let call = self
            .call("cat-file")
            .args(["--batch", "--buffer"])
            .stdin(batch);
        let malformed = call.error(GitProblem::Malformed {
            what: "a batch of objects",
        });
        parse_batch(&call.stdout()?, blobs).ok_or(malformed)
    }
}

/// Parses `<object> SP <type> SP <size> LF <content> LF` and `<object> SP missing LF`, repeated.
fn parse_batch(mut output: &[u8], blobs: &mut Blobs) -> Option<()> {
    while !output.is_empty() {
        let end = output.iter().position(|byte| *byte == b'\n')?;
        let header = std::str::from_utf8(&output[..end]).ok()?;
        output = &output[end + 1..];
        let mut fields = header.split(' ');
        let object: ObjectId = fields.next()?.parse().ok()?;
        let kind = fields.next()?;
        if kind == "missing" {
            continue;
        }
        let size: usize = fields.next()?.parse().ok()?;
        let content = output.get(..size)?;
        if kind == "blob" {
            blobs.insert(object, content.into());
        }
        output = output.get(size..)?.strip_prefix(b"\n")?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectFormat;

    #[test]
    fn a_batch_contains_contents_with_any_bytes() {
        let id = |content: &[u8]| ObjectFormat::Sha1.blob_id(content);
        let (first, gone, empty) = (id(b"a\nb\0"), id(b"gone"), id(b""));
        let output = format!("{first} blob 4\na\nb\0\n{gone} missing\n{empty} blob 0\n\n");
        let mut blobs = Blobs::new();
        assert_eq!(parse_batch(output.as_bytes(), &mut blobs), Some(()));
        let expected: Blobs = [(first, (*b"a\nb\0").into()), (empty, Vec::new().into())]
            .into_iter()
            .collect();
        assert_eq!(blobs, expected);
        for cut in [1, 30, 50, output.len() - 1] {
            assert_eq!(
                parse_batch(&output.as_bytes()[..cut], &mut Blobs::new()),
                None,
                "{cut}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn parsing_any_batch_does_not_panic(output in "([0-9a-f]{40}| blob | missing|[0-9]{1,25}|\n|[a-z ]{0,5}){0,12}") {
            let _read: Option<()> = parse_batch(output.as_bytes(), &mut Blobs::new());
        }
    }
}
