//! The sizes beyond which a file is refused, never cut.

/// Most bytes of a daemon file.
pub const MAX_FILE_BYTES: usize = 256 * 1024;
/// Most bytes between the fences.
pub const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;
/// Most YAML nodes, counted after aliases and merge keys are written out.
pub const MAX_NODES: usize = 5_000;
/// Most collections inside each other, the outermost mapping included.
pub const MAX_DEPTH: usize = 16;
/// Most bytes of one YAML string.
pub const MAX_STRING_BYTES: usize = 8 * 1024;
/// Most entries of one YAML list.
pub const MAX_LIST_ENTRIES: usize = 256;
