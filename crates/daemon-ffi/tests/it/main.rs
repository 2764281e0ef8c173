//! The header, and the library as a C program uses it.

mod header;
mod program;
mod results;
