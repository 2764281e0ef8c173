//! Sends spans to a collector.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Url};

use crate::span::{TraceSpan, request};

/// How long a request may take, in all.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Where a collector takes traces if its address has no path.
const PATH: &str = "/v1/traces";

/// Why no exporter could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExporterSetupError {
    /// The address is not an HTTP URL, or contains a user or a password.
    #[error("`{0}` is not an address such as `http://127.0.0.1:4318`; secrets belong into headers")]
    Address(String),
    /// The value of a header, or its name, is not one of HTTP.
    #[error("`{0}` is not a header with a value of visible characters")]
    Header(String),
    /// The certificates of this machine cannot be read.
    #[error("requests cannot be prepared: {0}")]
    Client(String),
}

/// Why spans were not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// They may be taken later: the collector did not answer, or asked for patience.
    #[error("the collector did not take the traces: {0}")]
    Later(String),
    /// They will not be taken.
    #[error("the collector refused the traces: {0}")]
    Refused(String),
}

/// Sends spans to a collector over OTLP/HTTP, as JSON.
///
/// It follows no redirect, which could send its headers to another host.
#[derive(Clone, Debug)]
pub struct TraceExporter {
    host: String,
    address: Url,
    client: Client,
}

impl TraceExporter {
    /// Prepares requests to a collector; sends nothing. `host` names this host in each of them.
    ///
    /// # Errors
    /// If the address or a header cannot be used.
    pub fn new(
        host: String,
        address: &str,
        headers: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ExporterSetupError> {
        let address = parsed(address)?;
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let key: Result<HeaderName, _> = name.parse();
            let value = HeaderValue::from_str(&value);
            let (Ok(key), Ok(mut value)) = (key, value) else {
                return Err(ExporterSetupError::Header(name));
            };
            value.set_sensitive(true);
            all.insert(key, value);
        }
        // Fails if another part of the process has installed a provider before; any provider will do.
        rustls::crypto::ring::default_provider()
            .install_default()
            .unwrap_or_default();
        let mut client = Client::builder()
            .user_agent(concat!("daemon-run/", env!("CARGO_PKG_VERSION")))
            .default_headers(all)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(TIMEOUT);
        if address.scheme() == "http" {
            // Without TLS no certificates are needed, so none are loaded.
            client = client.tls_certs_only([]);
        }
        match client.build() {
            Ok(client) => Ok(Self {
                host,
                address,
                client,
            }),
            Err(error) => Err(ExporterSetupError::Client(error.without_url().to_string())),
        }
    }

    /// Sends some spans.
    ///
    /// # Errors
    /// If the collector does not take them, now or ever.
    pub async fn export(&self, spans: &[TraceSpan]) -> Result<(), ExportError> {
        let body = request(&self.host, spans).to_string();
        let sent = self.client.post(self.address.clone()).body(body).send();
        let answer = sent
            .await
            .map_err(|error| ExportError::Later(error.without_url().to_string()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            // Those of which OTLP says that the request may be repeated.
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(ExportError::Later(answer.status().to_string())),
            status => Err(ExportError::Refused(status.to_string())),
        }
    }
}

/// Checks the address of a collector.
///
/// # Errors
/// If it is not an HTTP URL, or contains a user or a password.
pub fn check_address(address: &str) -> Result<(), ExporterSetupError> {
    parsed(address).map(|_| ())
}

/// Parses the address of a collector; one without a path gets that of the protocol.
fn parsed(address: &str) -> Result<Url, ExporterSetupError> {
    let is_usable = |url: &Url| {
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        is_web && url.username().is_empty() && url.password().is_none()
    };
    let Some(mut url) = address.parse().ok().filter(is_usable) else {
        return Err(ExporterSetupError::Address(address.to_owned()));
    };
    if url.path() == "/" {
        url.set_path(PATH);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::{TraceExporter, parsed};

    #[test]
    fn an_address_without_a_path_gets_the_path_of_the_protocol() {
        let path = |address: &str| parsed(address).map(|url| url.path().to_owned()).ok();
        assert_eq!(path("http://127.0.0.1:4318").as_deref(), Some("/v1/traces"));
        assert_eq!(path("https://otlp.example/").as_deref(), Some("/v1/traces"));
        assert_eq!(
            path("https://otlp.example/api/in").as_deref(),
            Some("/api/in")
        );
        for wrong in [
            "127.0.0.1:4318",
            "ftp://host",
            "http://u:p@host",
            "",
            "http://",
        ] {
            assert_eq!(path(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_header_that_http_cannot_carry_is_refused_by_its_name() {
        let with = |name: &str, value: &str| {
            let headers = [(name.to_owned(), value.to_owned())];
            let made = TraceExporter::new("h".to_owned(), "http://127.0.0.1:1", headers);
            made.map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(with("x-key", "secret"), Ok(()));
        let refused = with("x-key", "line\nbreak").expect_err("it is refused");
        assert!(
            refused.contains("`x-key`") && !refused.contains("break"),
            "{refused}"
        );
        assert!(with("x key", "v").is_err());
    }
}
