//! Chains of activations that wake each other through outputs, and the limits that end them.

use daemon_event::ActivationId;
use jiff::SignedDuration;

/// How many activations one root may have within [`ROOT_PERIOD`], including itself.
pub const MAX_PER_ROOT: u64 = 10;
/// The period over which the activations of a root are counted.
pub const ROOT_PERIOD: SignedDuration = SignedDuration::from_hours(1);

/// The position of an activation in a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The first activation of the chain, which no output woke.
    pub root: ActivationId,
    /// The number of outputs between the root and this activation.
    pub depth: u32,
}

impl Chain {
    /// Begins a chain with an activation.
    pub fn begin(root: ActivationId) -> Self {
        Self { root, depth: 0 }
    }

    /// Returns the position of an activation that an output of this one wakes; `max_depth` limits the depth of the chain.
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
    /// The position of the trigger's activation.
    pub chain: Chain,
    /// The greatest depth that the host's configuration allows.
    pub max_depth: u32,
}

/// Why a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// The chain would be too deep.
    Depth {
        /// The depth of the refused activation.
        found: u32,
        /// The greatest allowed depth.
        limit: u32,
    },
    /// Its root has had [`MAX_PER_ROOT`] activations within [`ROOT_PERIOD`].
    Root,
}

impl ChainEnd {
    /// Returns the reason that is stored with the cancelled activation.
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
    /// A person is notified: it is the first end of this root within [`ROOT_PERIOD`].
    Due,
    /// A person was notified of an earlier end.
    Given,
}

/// Decides whether a chain ends before a trigger; `n_of_root` counts the activations of its root.
pub(crate) fn ends(link: &Link, n_of_root: u64) -> Option<ChainEnd> {
    let depth = link.chain.depth;
    // Two limits, since a loop can also grow in breadth: ten activations that one root wakes directly have depth one.
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
