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

/// The address of a database, and the name of the host that uses it.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The address, as a URL or in the `key=value` form of `libpq`. `sslmode` is `disable`, `prefer` or `require`.
    pub address: String,
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
