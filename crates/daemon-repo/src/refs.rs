//! Branches and tags, and their moves.

use std::collections::BTreeMap;

use crate::object::{ObjectId, RefKind, RefName};

/// The branches and tags of a repository at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefSnapshot {
    refs: BTreeMap<RefName, ObjectId>,
    origin_head: Option<RefName>,
    unnamable: Vec<String>,
}

impl RefSnapshot {
    /// Returns the object of a ref; for an annotated tag, the tag object.
    pub fn get(&self, name: &RefName) -> Option<&ObjectId> {
        self.refs.get(name)
    }

    /// Lists the refs, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&RefName, &ObjectId)> {
        self.refs.iter()
    }

    /// Whether there are neither branches nor tags.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    /// Returns the local branch with the name that `origin/HEAD` points to; it may not exist.
    pub fn origin_head(&self) -> Option<&RefName> {
        self.origin_head.as_ref()
    }

    pub(crate) fn insert(&mut self, name: RefName, object: ObjectId) {
        self.refs.insert(name, object);
    }

    pub(crate) fn set_origin_head(&mut self, branch: RefName) {
        self.origin_head = Some(branch);
    }

    /// Lists the refs whose names are not UTF-8, with replacement characters; they are not watched.
    pub fn unnamable(&self) -> &[String] {
        &self.unnamable
    }
}

impl FromIterator<(RefName, ObjectId)> for RefSnapshot {
    fn from_iter<I: IntoIterator<Item = (RefName, ObjectId)>>(refs: I) -> Self {
        Self {
            refs: refs.into_iter().collect(),
            ..Self::default()
        }
    }
}

/// Parses lines of `<object> NUL <symref> NUL <ref>`; returns `None` if a line has another format.
///
/// Names below `root` are returned with `refs/` in its place.
pub(crate) fn parse_refs(output: &[u8], root: &str) -> Option<RefSnapshot> {
    let mut acc = RefSnapshot::default();
    for line in output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let mut fields = line.split(|byte| *byte == 0);
        let (object, symref, name) = (fields.next()?, fields.next()?, fields.next()?);
        let text = String::from_utf8_lossy(name);
        if text == "refs/remotes/origin/HEAD" {
            let target = String::from_utf8_lossy(symref);
            acc.origin_head = target
                .strip_prefix("refs/remotes/origin/")
                .and_then(|branch| RefName::branch(branch).ok());
            continue;
        }
        let below = std::str::from_utf8(name)
            .ok()
            .and_then(|name| name.strip_prefix(root));
        match below.and_then(|below| format!("refs/{below}").parse().ok()) {
            Some(name) => acc.insert(name, std::str::from_utf8(object).ok()?.parse().ok()?),
            None => acc.unnamable.push(text.into_owned()),
        }
    }
    Some(acc)
}

/// The last reported position of every ref: its object and the number of its moves.
///
/// A deleted ref keeps its count, so that the moves of a later ref with the same name get new numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefPositions {
    refs: BTreeMap<RefName, RefPosition>,
}

/// The last reported position of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefPosition {
    /// The object; `None` if the ref was deleted.
    pub at: Option<ObjectId>,
    /// The number of moves reported so far.
    pub n_moves: u64,
}

/// A move of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// The ref that moved.
    pub name: RefName,
    /// The objects before and after the move.
    pub step: RefChange,
    /// The number of this move among the moves of the ref, from 1.
    pub n: u64,
}

/// The objects of a ref before and after a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefChange {
    /// The ref was created.
    Created {
        /// The object of the new ref.
        after: ObjectId,
    },
    /// The ref points to another object.
    Moved {
        /// The former object.
        before: ObjectId,
        /// The current object.
        after: ObjectId,
    },
    /// The ref was deleted.
    Deleted {
        /// The former object.
        before: ObjectId,
    },
}

impl RefChange {
    fn between(before: Option<&ObjectId>, after: Option<&ObjectId>) -> Option<Self> {
        match (before.cloned(), after.cloned()) {
            (None, Some(after)) => Some(Self::Created { after }),
            (Some(before), None) => Some(Self::Deleted { before }),
            (Some(before), Some(after)) if before != after => Some(Self::Moved { before, after }),
            _ => None,
        }
    }

    /// Returns the object after the move; `None` if the ref was deleted.
    pub fn after(&self) -> Option<&ObjectId> {
        match self {
            Self::Created { after } | Self::Moved { after, .. } => Some(after),
            Self::Deleted { .. } => None,
        }
    }

    /// Returns the object before the move; `None` if the ref was created.
    pub fn before(&self) -> Option<&ObjectId> {
        match self {
            Self::Moved { before, .. } | Self::Deleted { before } => Some(before),
            Self::Created { .. } => None,
        }
    }
}

impl RefMove {
    /// Returns whether the ref is a branch or a tag.
    pub fn kind(&self) -> RefKind {
        self.name.kind()
    }
}

impl RefPositions {
    /// Returns the positions of the current refs with no moves: the first look at a repository reports no event.
    pub fn baseline(refs: &RefSnapshot) -> Self {
        let position = |(name, at): (&RefName, &ObjectId)| {
            (
                name.clone(),
                RefPosition {
                    at: Some(at.clone()),
                    n_moves: 0,
                },
            )
        };
        Self {
            refs: refs.iter().map(position).collect(),
        }
    }

    /// Lists every ref ever seen with its last reported position, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&RefName, &RefPosition)> {
        self.refs.iter()
    }

    /// Compares the refs with the last reported positions. Returns the new positions and the moves, sorted by name.
    ///
    /// A caller that stores the new positions in the same transaction as the events of the moves reports each move exactly once.
    pub fn advance(&self, refs: &RefSnapshot) -> (Self, Vec<RefMove>) {
        let mut next = self.clone();
        for name in refs.refs.keys() {
            let unseen = RefPosition {
                at: None,
                n_moves: 0,
            };
            next.refs.entry(name.clone()).or_insert(unseen);
        }
        let mut moves = Vec::new();
        for (name, position) in &mut next.refs {
            let now = refs.get(name);
            let Some(step) = RefChange::between(position.at.as_ref(), now) else {
                continue;
            };
            position.at = now.cloned();
            position.n_moves += 1;
            moves.push(RefMove {
                name: name.clone(),
                step,
                n: position.n_moves,
            });
        }
        (next, moves)
    }
}

impl FromIterator<(RefName, RefPosition)> for RefPositions {
    fn from_iter<I: IntoIterator<Item = (RefName, RefPosition)>>(refs: I) -> Self {
        Self {
            refs: refs.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
