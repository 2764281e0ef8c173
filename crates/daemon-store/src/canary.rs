//! Faults that a test plants to see that its checks find them.

/// A fault; each breaks one promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canary {
    /// Trigger keys and recorded ticks are not unique (P5, G2).
    UniqueIndexDropped,
    /// Jitter moves the tick itself, not only its start (P5).
    JitterInScheduledAt,
    /// An event gives way to an unfinished tick of its daemon (G6).
    OverlapDropsWatch,
    /// A write is accepted under a lease that was lost (P10).
    FenceOff,
    /// A cursor stays where it was when the clock steps back, and mutes its daemon (P22).
    CursorKept,
}

impl Canary {
    /// Every fault that the simulator looks for.
    pub const ALL: [Self; 4] = [
        Self::UniqueIndexDropped,
        Self::JitterInScheduledAt,
        Self::OverlapDropsWatch,
        Self::CursorKept,
    ];
}
