//! The long-lived host: driver, intake, control protocol.

pub mod config;
pub mod home;
pub mod random;
