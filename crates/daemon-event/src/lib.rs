//! Events, triggers, and the vocabulary of sources, kinds and actions.
