//! Branches and tags, and how they move.

use std::collections::BTreeMap;

use crate::object::{ObjectId, RefKind, RefName};

/// The branches and tags of a repository at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefSnapshot {
    refs: BTreeMap<RefName, ObjectId>,
    origin_head: Option<RefName>,
    unnamable: Vec<String>,
}

impl RefSnapshot {
    /// Returns the object that a ref names; for an annotated tag, the tag.
    pub fn get(&self, name: &RefName) -> Option<&ObjectId> {
        self.refs.get(name)
    }

    /// Lists the refs in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&RefName, &ObjectId)> {
        self.refs.iter()
    }

    /// Whether there is no branch and no tag.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    /// Returns the local branch of the name that `origin/HEAD` points to, whether or not it exists.
    pub fn origin_head(&self) -> Option<&RefName> {
        self.origin_head.as_ref()
    }

    pub(crate) fn insert(&mut self, name: RefName, object: ObjectId) {
        self.refs.insert(name, object);
    }

    pub(crate) fn set_origin_head(&mut self, branch: RefName) {
        self.origin_head = Some(branch);
    }

    /// Lists the refs whose names are not UTF-8 and which are therefore not watched, with replacement characters.
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

/// Reads lines of `<object> NUL <symref> NUL <ref>`; returns `None` when one has another shape.
///
/// Names below `root` are given as those below `refs/`.
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

/// What was last told of each ref: what it named, and how often it has moved.
///
/// A ref that went keeps its count, so that no move of a ref of the same name ever gets the number of an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefCursor {
    refs: BTreeMap<RefName, RefPosition>,
}

/// What was last told of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefPosition {
    /// What it named; `None` when it went.
    pub at: Option<ObjectId>,
    /// How many of its moves were told.
    pub n_moves: u64,
}

/// One ref named one thing and names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// The ref.
    pub name: RefName,
    /// How it moved.
    pub step: Step,
    /// The number of this move among the moves of this ref, from one.
    pub n: u64,
}

/// How a ref moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It appeared.
    Created {
        /// What it names.
        after: ObjectId,
    },
    /// It names something else.
    Moved {
        /// What it named.
        before: ObjectId,
        /// What it names.
        after: ObjectId,
    },
    /// It went.
    Deleted {
        /// What it named.
        before: ObjectId,
    },
}

impl Step {
    fn between(before: Option<&ObjectId>, after: Option<&ObjectId>) -> Option<Self> {
        match (before.cloned(), after.cloned()) {
            (None, Some(after)) => Some(Self::Created { after }),
            (Some(before), None) => Some(Self::Deleted { before }),
            (Some(before), Some(after)) if before != after => Some(Self::Moved { before, after }),
            _ => None,
        }
    }

    /// Returns what the ref names afterwards.
    pub fn after(&self) -> Option<&ObjectId> {
        match self {
            Self::Created { after } | Self::Moved { after, .. } => Some(after),
            Self::Deleted { .. } => None,
        }
    }

    /// Returns what the ref named before.
    pub fn before(&self) -> Option<&ObjectId> {
        match self {
            Self::Moved { before, .. } | Self::Deleted { before } => Some(before),
            Self::Created { .. } => None,
        }
    }
}

impl RefMove {
    /// Tells a branch from a tag.
    pub fn kind(&self) -> RefKind {
        self.name.kind()
    }
}

impl RefCursor {
    /// Takes the refs as they are for told: the first sight of a repository makes no event.
    pub fn baseline(refs: &RefSnapshot) -> Self {
        let told = |(name, at): (&RefName, &ObjectId)| {
            (
                name.clone(),
                RefPosition {
                    at: Some(at.clone()),
                    n_moves: 0,
                },
            )
        };
        Self {
            refs: refs.iter().map(told).collect(),
        }
    }

    /// Lists every ref ever seen with what was told of it, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&RefName, &RefPosition)> {
        self.refs.iter()
    }

    /// Compares the refs with what was told, and returns the cursor that has told the difference.
    ///
    /// Moves come in the order of the refs' names. A caller that stores the new cursor in the same transaction as the events
    /// of the moves loses none and tells none twice.
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
            let Some(step) = Step::between(position.at.as_ref(), now) else {
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

impl FromIterator<(RefName, RefPosition)> for RefCursor {
    fn from_iter<I: IntoIterator<Item = (RefName, RefPosition)>>(refs: I) -> Self {
        Self {
            refs: refs.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
