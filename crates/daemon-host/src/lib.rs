//! The long-lived host: driver, intake, control protocol.
