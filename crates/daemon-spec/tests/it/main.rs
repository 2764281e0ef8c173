//! Everything through the public interface.
mod catalogue;
