//! The limits of a daemon file. A file above a limit is rejected with `D002`, never truncated.

/// The maximum size of a daemon file in bytes.
pub const MAX_FILE_BYTES: usize = 256 * 1024;
/// The maximum number of bytes between the fences.
pub const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;
/// The maximum number of YAML nodes. Aliases count as the nodes that they refer to.
pub const MAX_NODES: usize = 5_000;
/// The maximum nesting depth of lists and mappings, including the outermost mapping.
pub const MAX_DEPTH: usize = 16;
/// The maximum size of a YAML string in bytes.
pub const MAX_STRING_BYTES: usize = 8 * 1024;
/// The maximum number of entries of a YAML list.
pub const MAX_LIST_ENTRIES: usize = 256;
