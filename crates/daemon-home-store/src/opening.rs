//! Which store a home has, and how it is opened.

use std::path::Path;
use std::sync::Arc;

use daemon_host::config::Host;
use daemon_host::home::Home;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_store::{Store, StoreError};
use daemon_store_sqlite::SqliteStore;

/// The value of `host.store` for a file in the home.
pub const SQLITE: &str = "sqlite";

/// The remedy for a store whose log is damaged.
const REPAIR: &str = "restore the store from a backup, or open it without the lost part with `daemon-run doctor --repair`, which keeps a copy";

/// What `host.store` can be.
const KINDS: &str = "`sqlite`, or `postgres://USER@HOST/DATABASE`";

/// Returns what is wrong with a value of `host.store`, if something is.
pub fn fault(store: &str) -> Option<String> {
    if store == SQLITE {
        return None;
    }
    if is_address(store) {
        #[cfg(feature = "postgres")]
        return crate::shared::fault(store);
        #[cfg(not(feature = "postgres"))]
        return Some("`host.store` is the address of a database, and this program was built without the feature `postgres`".to_owned());
    }
    // What follows the scheme may contain a password.
    let shown = store.split_once("://").map_or(store, |(scheme, _)| scheme);
    Some(format!("`host.store` is `{shown}`; it is {KINDS}"))
}

/// Reports whether a value of `host.store` is the address of a database.
fn is_address(store: &str) -> bool {
    ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| store.starts_with(scheme))
}

/// Reports whether a configuration names a database that other hosts may use.
pub fn is_shared(host: &Host) -> bool {
    host.store != SQLITE
}

/// Returns the home of a command that makes none, if it has a store.
pub fn existing(root: &Path, host: &Host) -> Option<Home> {
    if is_shared(host) {
        // Its store is elsewhere. A directory without a lock was never the home of a host.
        let home = Home::named(root);
        return home.root().join("run").is_dir().then_some(home);
    }
    Home::existing(root)
}

/// Returns the version of the schema that an opened store has at least.
pub fn schema_version(host: &Host) -> i64 {
    match is_shared(host) {
        #[cfg(feature = "postgres")]
        true => daemon_store_postgres::PostgresStore::schema_version(),
        _ => SqliteStore::schema_version(),
    }
}

/// Opens the store of a home, and makes it or brings it up to date.
///
/// # Errors
/// `Config` if the configuration names no store or its password cannot be read; `Unavailable` if the store cannot be opened.
pub async fn open(home: &Home, host: &Host) -> Result<Arc<dyn Store>, OpError> {
    check(&host.store)?;
    #[cfg(feature = "postgres")]
    if is_shared(host) {
        return crate::shared::open(home, host).await;
    }
    opened(home, SqliteStore::open(home.store()))
}

/// Opens the store of a home to read it, also in a home that cannot be written.
///
/// # Errors
/// Those of [`open`]; `Unavailable` also if the store does not exist.
pub async fn open_to_read(home: &Home, host: &Host) -> Result<Arc<dyn Store>, OpError> {
    check(&host.store)?;
    #[cfg(feature = "postgres")]
    if is_shared(host) {
        return crate::shared::open_to_read(home, host).await;
    }
    opened(home, SqliteStore::open_to_read(home.store()))
}

/// Checks the value of a flag, a variable or the configuration.
///
/// # Errors
/// Says what is wrong with it.
pub fn check(store: &str) -> Result<(), OpError> {
    match fault(store) {
        None => Ok(()),
        Some(message) => {
            let error = OpError::new(OpErrorKind::Config, "unknown-store", message);
            Err(error.with_help(
                "`--store` and `DAEMON_STORE` replace `host.store` of the configuration",
            ))
        }
    }
}

fn opened(home: &Home, opened: Result<SqliteStore, StoreError>) -> Result<Arc<dyn Store>, OpError> {
    match opened {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => {
            let failure = failed(&home.store().display().to_string(), &error);
            Err(match error {
                StoreError::LogDamaged { .. } => failure.with_help(REPAIR),
                StoreError::Moved { to, is_finished } => moved(home, (&to, is_finished)),
                _ => failure,
            })
        }
    }
}

/// Returns the error for a home's own store that was imported into another.
pub(crate) fn moved(home: &Home, (to, is_finished): (&str, bool)) -> OpError {
    let (done, help) = match is_finished {
        true => ("was imported", format!("set `host.store` to `{to}`")),
        false => (
            "is being imported",
            "finish with `daemon-run import`, or give it up with `daemon-run import --abandon`"
                .to_owned(),
        ),
    };
    let message = format!("the store `{}` {done} into `{to}`", home.store().display());
    OpError::new(OpErrorKind::Config, "store-moved", message).with_help(help)
}

/// Returns the error for a store at a place that cannot be opened.
pub(crate) fn failed(place: &str, error: &StoreError) -> OpError {
    let message = match chain(error) {
        // Most errors of a file name it.
        message if message.contains(place) => message,
        message => format!("the store `{place}`: {message}"),
    };
    OpError::new(OpErrorKind::Unavailable, "store-failed", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_file_of_the_home_or_a_database_without_a_password() {
        assert_eq!(fault(SQLITE), None);
        for (store, expected) in [
            (
                "/var/lib/store.db",
                "`host.store` is `/var/lib/store.db`; it is `sqlite`, or `postgres://USER@HOST/DATABASE`",
            ),
            // A misspelt scheme may be followed by a password.
            (
                "postgress://ann:s3cret@db/daemons",
                "`host.store` is `postgress`; it is `sqlite`, or `postgres://USER@HOST/DATABASE`",
            ),
        ] {
            assert_eq!(fault(store).as_deref(), Some(expected));
            let refused = check(store).expect_err("it is no store");
            assert_eq!(
                (refused.kind, refused.message.as_str()),
                (OpErrorKind::Config, expected)
            );
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn an_address_is_refused_without_being_repeated() {
        assert_eq!(fault("postgres://ann@db.example/daemons"), None);
        assert_eq!(fault("postgresql://ann@db.example/daemons"), None);
        let password = "`host.store` contains a password: give it in `host.store_password_file` or `host.store_password_env`";
        let unreadable = "`host.store` is no address of a database: it cannot be read as `postgres://USER@HOST:PORT/DATABASE`";
        for (store, expected) in [
            ("postgres://ann:s3cret@db.example/daemons", password),
            ("postgres://ann:s3cret@db.example:port/daemons", unreadable),
            (
                "postgres:///daemons",
                "`host.store` is no address of a database: it names no server",
            ),
        ] {
            assert_eq!(fault(store).as_deref(), Some(expected));
        }
    }

    #[cfg(not(feature = "postgres"))]
    #[test]
    fn a_program_without_the_feature_refuses_an_address() {
        let expected = "`host.store` is the address of a database, and this program was built without the feature `postgres`";
        assert_eq!(
            fault("postgres://ann@db.example/daemons").as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn a_home_exists_without_a_file_of_its_own_once_a_host_has_used_it() {
        let root = tempfile::tempdir().expect("a directory");
        let own = Host::default();
        let shared = Host {
            store: "postgres://ann@db.example/daemons".to_owned(),
            ..Host::default()
        };
        let exist = |host: &Host| existing(root.path(), host).is_some();
        assert_eq!((exist(&own), exist(&shared)), (false, false));
        Home::open(root.path()).expect("a home");
        assert_eq!((exist(&own), exist(&shared)), (false, true));
        std::fs::write(root.path().join("state.db"), "").expect("a file");
        assert_eq!((exist(&own), exist(&shared)), (true, true));
    }
}
