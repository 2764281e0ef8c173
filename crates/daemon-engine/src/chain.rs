//! Chains: activations that the outputs of earlier ones woke, and where they end.

use daemon_event::ActivationId;
use jiff::SignedDuration;

/// How many activations one root may have within [`ROOT_PERIOD`], itself included.
pub const MAX_PER_ROOT: u64 = 10;
/// The time over which the activations of a root are counted.
pub const ROOT_PERIOD: SignedDuration = SignedDuration::from_hours(1);

/// The place of an activation among those that woke each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The activation at the beginning, which no output woke.
    pub root: ActivationId,
    /// How many outputs lie between the root and this one.
    pub depth: u32,
}

impl Chain {
    /// Begins a chain with an activation.
    pub fn begin(root: ActivationId) -> Self {
        Self { root, depth: 0 }
    }

    /// Returns the link to what an output of this activation wakes; at most `max_depth` outputs may follow each other.
    pub fn link(&self, max_depth: u32) -> Link {
        Link {
            chain: Self {
                root: self.root.clone(),
                depth: self.depth.saturating_add(1),
            },
            max_depth,
        }
    }
}

/// The chain that a trigger continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The place that its activation gets.
    pub chain: Chain,
    /// How deep the chain may grow.
    pub max_depth: u32,
}

/// Why a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// It would be deeper than it may be.
    Depth {
        /// The depth that was asked for.
        found: u32,
        /// The deepest allowed.
        limit: u32,
    },
    /// Its root has had [`MAX_PER_ROOT`] activations within [`ROOT_PERIOD`].
    Root,
}

impl ChainEnd {
    /// Returns why an activation was cancelled, as rows and listings say it.
    pub fn reason(self) -> String {
        match self {
            Self::Depth { found, limit } => format!("chain: {found} deep, at most {limit}"),
            Self::Root => format!("chain: {MAX_PER_ROOT} activations of one root within an hour"),
        }
    }
}

/// Whether a person is to be notified of the end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It is the first end of this root within [`ROOT_PERIOD`].
    Due,
    /// There was one.
    Given,
}

/// Decides whether a chain ends before a trigger; `n_of_root` counts the activations of its root.
pub(crate) fn ends(link: &Link, n_of_root: u64) -> Option<ChainEnd> {
    let depth = link.chain.depth;
    if depth > link.max_depth {
        Some(ChainEnd::Depth {
            found: depth,
            limit: link.max_depth,
        })
    } else if n_of_root >= MAX_PER_ROOT {
        Some(ChainEnd::Root)
    } else {
        None
    }
}
