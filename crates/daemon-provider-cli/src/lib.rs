//! Providers that run as child processes.
