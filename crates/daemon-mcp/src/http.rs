//! Servers reached over HTTP.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::ClientError;

/// Hosts that are reached without a proxy.
const LOOPBACK: &str = "localhost,127.0.0.1,::1";

/// The address of a server and the headers of every request to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address; it may contain secrets.
    pub url: String,
    /// The headers; their values may be secrets.
    pub headers: BTreeMap<String, String>,
    /// The HTTP proxy through which the server is reached, unless it is on a loopback address; `None` connects directly.
    pub proxy: Option<String>,
}

impl fmt::Debug for Endpoint {
    // Neither the address nor the values are printed: both may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("Endpoint")
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Builds the HTTP transport to the server.
    pub(crate) fn transport(
        &self,
    ) -> Result<StreamableHttpClientTransport<reqwest::Client>, ClientError> {
        // An error means that another crypto provider is installed already; either one works.
        rustls::crypto::ring::default_provider()
            .install_default()
            .unwrap_or_default();
        let mut client = reqwest::Client::builder()
            .user_agent(concat!("daemon-run/", env!("CARGO_PKG_VERSION")))
            // A redirect could send the headers, and the secrets in them, to another host.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        // Without TLS no root certificates are needed, so none are loaded.
        if self.url.starts_with("http://") {
            client = client.tls_certs_only([]);
        }
        // The URL is removed from errors because it may contain secrets.
        let prepare = |error: reqwest::Error| ClientError::Prepare(Box::new(error.without_url()));
        if let Some(proxy) = &self.proxy {
            let proxy = reqwest::Proxy::all(proxy).map_err(prepare)?;
            client = client.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(LOOPBACK)));
        }
        let client = client.build().map_err(prepare)?;
        let mut headers = HashMap::new();
        for (name, value) in &self.headers {
            let refused = |source| ClientError::Header {
                name: name.clone(),
                source,
            };
            let header = name
                .parse::<HeaderName>()
                .map_err(|error| refused(error.into()))?;
            let mut value = HeaderValue::from_str(value).map_err(|error| refused(error.into()))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .custom_headers(headers);
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }
}
