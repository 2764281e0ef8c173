//! The long-lived host: driver, intake, control protocol.

pub mod config;
pub mod context;
pub mod control;
pub mod doctor;
pub mod driver;
mod execute;
mod failpoint;
pub mod fire;
pub mod home;
pub mod http;
pub mod intake;
pub mod ops;
pub mod random;
pub mod registry;
mod runs;
pub mod serve;
pub mod wire;
