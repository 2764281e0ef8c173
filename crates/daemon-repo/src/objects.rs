//! Reading trees and blobs from the object database.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::discover::{Discovery, Plan, Read};
use crate::error::{GitError, Problem};
use crate::links::{self, Listed};
use crate::object::ObjectId;
use crate::repository::Repository;
use crate::tree::{EntryKind, RawEntry, parse_listing};

/// The most bytes of blobs asked for in one process, below the cap on its output.
const BATCH_BYTES: u64 = 32 << 20;

/// The longest target of a link, as in the kernel.
const MAX_TARGET: u64 = 4096;

/// Blobs by name.
pub(crate) type Blobs = HashMap<ObjectId, Arc<[u8]>>;

impl Repository {
    /// Reads the daemons of a commit from its objects: one listing, then all files in one batch.
    ///
    /// The work tree is not looked at, and no filter runs. Links of support trees are followed within the commit; no other is.
    ///
    /// # Errors
    /// [`GitError`] when the commit is not there or git fails.
    pub fn discover(&self, commit: &ObjectId) -> Result<Discovery, GitError> {
        let call = self
            .call("ls-tree")
            .args(["-r", "-z", "-l", "--full-tree"])
            .operand(commit.as_str())
            .arg(".agents");
        let malformed = call.error(Problem::Malformed {
            what: "a listing of a tree",
        });
        let mut entries = parse_listing(&call.stdout()?).ok_or(malformed)?;
        if links::is_any(&entries) {
            entries = links::follow(entries, &mut self.listed(commit)?).entries;
        }
        let plan = Plan::new(entries);
        let wanted = plan
            .wanted()
            .filter_map(|entry| Some((entry.object.as_ref()?, entry.size)));
        let blobs = self.blobs(wanted)?;
        Ok(plan.finish(|entry| {
            let object = entry.object.clone().expect("a listing names every object");
            match blobs.get(&object) {
                Some(bytes) => Read::Blob(object, Arc::clone(bytes)),
                None => Read::Unopened(object),
            }
        }))
    }

    /// Lists a whole tree, and reads its links.
    fn listed(&self, commit: &ObjectId) -> Result<Listed, GitError> {
        let call = self
            .call("ls-tree")
            .args(["-r", "-z", "-l", "--full-tree"])
            .operand(commit.as_str());
        let malformed = call.error(Problem::Malformed {
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
        Ok(Listed {
            targets,
            entries: entries.into_iter().map(by_path).collect(),
        })
    }

    /// Reads blobs of known sizes; one that is not in the repository is absent from the answer.
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
        let malformed = call.error(Problem::Malformed {
            what: "a batch of objects",
        });
        parse_batch(&call.stdout()?, blobs).ok_or(malformed)
    }
}

/// Reads `<object> SP <type> SP <size> LF <content> LF`, or `<object> SP missing LF`, any number of times.
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
    fn a_batch_holds_contents_with_any_bytes() {
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
        fn no_batch_panics(output in "([0-9a-f]{40}| blob | missing|[0-9]{1,25}|\n|[a-z ]{0,5}){0,12}") {
            let _read: Option<()> = parse_batch(output.as_bytes(), &mut Blobs::new());
        }
    }
}
