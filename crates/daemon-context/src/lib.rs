//! The activation context: the author's file byte for byte, why it woke, and bounded state.
