//! The project's own labelled corpus.
