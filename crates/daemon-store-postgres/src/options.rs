//! How a store is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon_store::StoreError;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::connection::Address;

/// The most connections that a store opens.
pub const MAX_CONNECTIONS: usize = 8;

/// The clock that decides when a lease is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseClock {
    /// The clock of the database: hosts whose clocks differ agree on it. Leases last as long as requested, from then on.
    #[default]
    Database,
    /// The instants in the calls, for tests and simulations in virtual time. Hosts with wrong clocks take each other's leases.
    Caller,
}

/// The password of a role, which is never printed.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Takes a password.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(_)")
    }
}

/// Why a string is no address of a database. The message does not contain the string.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no URL, and not in the `key=value` form of `libpq`; or an option has an unknown name or value.
    #[error("it cannot be read as `postgres://USER@HOST:PORT/DATABASE`")]
    Unreadable(#[source] tokio_postgres::Error),
    /// It contains a password.
    #[error("it contains a password, which would be printed with it")]
    HasPassword,
    /// It names no server.
    #[error("it names no server")]
    NoServer,
}

/// Checks that a string can be used as the address of a database without a password.
///
/// # Errors
/// Says what is wrong.
pub fn check_address(address: &str) -> Result<(), AddressError> {
    let config: Config = address.parse().map_err(AddressError::Unreadable)?;
    if config.get_password().is_some() {
        return Err(AddressError::HasPassword);
    }
    match config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        true => Err(AddressError::NoServer),
        false => Ok(()),
    }
}

/// The address of a database, and the name of the host that uses it.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The address, as a URL or in the `key=value` form of `libpq`. `sslmode` is `disable`, `prefer` or `require`.
    pub address: String,
    /// The password, if the server requires one.
    pub password: Option<Password>,
    /// The name of this host, which its leases and starts are stored under. Two processes with one name must never run at once.
    pub host: String,
    /// The file with the certificates of authorities that the server's certificate is checked with; required unless `sslmode` is
    /// `disable` or the server is on a local socket.
    pub authorities: Option<PathBuf>,
    /// How many connections the store opens at most, from 2 to [`MAX_CONNECTIONS`]; one of them is for [`Wakeups`](crate::Wakeups).
    pub connections: usize,
    /// The clock of leases.
    pub lease_clock: LeaseClock,
}

impl PostgresOptions {
    /// Makes the options of a host, with the default limits and the clock of the database.
    pub fn new(address: impl Into<String>, host: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            password: None,
            host: host.into(),
            authorities: None,
            connections: MAX_CONNECTIONS,
            lease_clock: LeaseClock::Database,
        }
    }

    pub(crate) fn resolve(&self) -> Result<Address, StoreError> {
        let mut config: Config = self
            .address
            .parse()
            .map_err(|error| refused("the address of the database", error))?;
        if let Some(Password(password)) = &self.password {
            config.password(password);
        }
        config.connect_timeout(Duration::from_secs(5));
        config.tcp_user_timeout(Duration::from_secs(15));
        config.keepalives_idle(Duration::from_secs(15));
        if config.get_application_name().is_none() {
            config.application_name("daemon-run");
        }
        let tls = match &self.authorities {
            Some(path) => {
                // Certificates to check with mean that the server must be checked: `prefer` would continue without.
                config.ssl_mode(SslMode::Require);
                Some(Arc::new(tls_of(path)?))
            }
            None => {
                if config.get_ssl_mode() == SslMode::Require {
                    return Err(StoreError::Unavailable {
                        context: "use TLS without a file of authorities".to_owned(),
                        source: None,
                    });
                }
                None
            }
        };
        Ok(Address { config, tls })
    }
}

fn tls_of(path: &Path) -> Result<rustls::ClientConfig, StoreError> {
    let context = format!("read the authorities in `{}`", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in
        CertificateDer::pem_file_iter(path).map_err(|error| refused(&context, error))?
    {
        let certificate = certificate.map_err(|error| refused(&context, error))?;
        roots
            .add(certificate)
            .map_err(|error| refused(&context, error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(&context, error))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn refused(context: &str, source: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable {
        context: context.to_owned(),
        source: Some(Box::new(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_server_and_no_password() {
        let password = "it contains a password, which would be printed with it";
        let unreadable = "it cannot be read as `postgres://USER@HOST:PORT/DATABASE`";
        let cases = [
            ("postgres://ann@db.example:5433/daemons", None),
            ("postgresql://db.example", None),
            ("postgres:///daemons?host=/run/postgresql", None),
            ("postgres://ann:s3cret@db.example/daemons", Some(password)),
            (
                "postgres://db.example/daemons?password=s3cret",
                Some(password),
            ),
            ("postgres:///daemons", Some("it names no server")),
            ("postgres://db.example/?colour=blue", Some(unreadable)),
            ("postgres://db.example:port/", Some(unreadable)),
        ];
        for (address, expected) in cases {
            let found = check_address(address).err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let options = PostgresOptions {
            password: Some(Password::new("s3cret")),
            ..PostgresOptions::new("host=db", "one")
        };
        let printed = format!("{options:?} {:?}", options.resolve().unwrap());
        assert!(!printed.contains("s3cret"), "{printed}");
    }
}
