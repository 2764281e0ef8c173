//! The store of a home: the one that its configuration names, opened in one place.
//!
//! ```
//! use daemon_home_store::fault;
//!
//! assert_eq!(fault("sqlite"), None);
//! let fault = fault("paper").expect("it is no store");
//! assert_eq!(fault, "`host.store` is `paper`; it is `sqlite`, or `postgres://USER@HOST/DATABASE`");
//! ```
//!
//! [`open`] opens the store for a host or a command that changes something, and [`open_to_read`] for one that looks. [`existing`] finds
//! the home of a command that makes none. [`fault`] checks a value of `host.store`. [`import`] copies the file of a home into the
//! database that its configuration names. [`back_up`] copies a home, and [`restore`] makes one from the copy. [`home_checks`] and [`store_checks`] are the part of `doctor`, and [`fleet_checks`] that of
//! `doctor --fleet`.
//!
//! # Features
//! `postgres`, on by default: the store of many hosts in a PostgreSQL database. Without it, [`fault`] refuses such an address.
//!
//! # What this crate does not do
//! It takes no ownership of a home, and it begins no epoch.
//!
//! # Guarantees
//! - No error contains a password, and no address that could contain one.
//! - A host is never admitted to a file that was imported and to the database at the same time.
//! - [`open_to_read`] changes nothing in a database, and nothing in a store of the current version.

mod backup;
mod checks;
#[cfg(feature = "postgres")]
mod copying;
mod fleet;
mod import;
mod opening;
#[cfg(feature = "postgres")]
mod shared;

pub use backup::{Backup, back_up, restore};
pub use checks::{home_checks, store_checks};
pub use fleet::fleet_checks;
pub use import::{Imported, ImportedTable, OnProgress, abandon_import, check_importable, import};
pub use opening::{SQLITE, check, existing, fault, is_shared, open, open_to_read, schema_version};
