//! The store of many hosts.

use std::sync::Arc;

use daemon_host::config::Host;
use daemon_host::home::Home;
use daemon_host::token::configured;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_store::{Store, StoreError};
use daemon_store_postgres::{
    AddressError, Password, PostgresOptions, PostgresStore, check_address,
};

use crate::opening::failed;

/// The keys that name the place of the password, without `_file` and `_env`.
const PASSWORD: &str = "host.store_password";

pub(crate) fn fault(store: &str) -> Option<String> {
    let why = check_address(store).err()?;
    Some(match why {
        AddressError::HasPassword => format!(
            "`host.store` contains a password: give it in `{PASSWORD}_file` or `{PASSWORD}_env`"
        ),
        why => format!("`host.store` is no address of a database: {why}"),
    })
}

pub(crate) async fn open(home: &Home, host: &Host) -> Result<Arc<dyn Store>, OpError> {
    opened(host, PostgresStore::open(&options(home, host)?).await)
}

pub(crate) async fn open_to_read(home: &Home, host: &Host) -> Result<Arc<dyn Store>, OpError> {
    let options = options(home, host)?;
    opened(host, PostgresStore::open_to_read(&options).await)
}

pub(crate) fn options(home: &Home, host: &Host) -> Result<PostgresOptions, OpError> {
    let password = configured(home.root(), PASSWORD, host.store_password());
    let password = password.map_err(|error| {
        OpError::new(OpErrorKind::Config, "no-token", chain(&error))
            .with_help("the file or the variable has to contain the password")
    })?;
    let authorities = host.store_authorities.as_deref();
    Ok(PostgresOptions {
        password: password.map(Password::new),
        authorities: authorities.map(|path| home.below(path)),
        ..PostgresOptions::new(&host.store, home.host_name(host))
    })
}

fn opened(
    host: &Host,
    opened: Result<PostgresStore, StoreError>,
) -> Result<Arc<dyn Store>, OpError> {
    match opened {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => {
            let help = match error {
                StoreError::Newer { .. } => "use the release that the other hosts use",
                _ if is_unchecked(host) => "name the authorities in `host.store_authorities`",
                _ => "check `host.store`, and that the server accepts connections from here",
            };
            Err(failed(&host.store, &error).with_help(help))
        }
    }
}

/// Reports whether an address demands TLS and nothing is configured to check the server with.
fn is_unchecked(host: &Host) -> bool {
    host.store_authorities.is_none() && host.store.contains("sslmode=require")
}
