//! Servers that are reached over HTTP.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::ClientError;

/// Where a server is reached, and what every request to it carries.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address.
    pub url: String,
    /// The headers, which may hold secrets.
    pub headers: BTreeMap<String, String>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("Endpoint")
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Prepares the way to the server.
    pub(crate) fn transport(
        &self,
    ) -> Result<StreamableHttpClientTransport<reqwest::Client>, ClientError> {
        // Somebody else in the process may have chosen another; either serves.
        rustls::crypto::ring::default_provider()
            .install_default()
            .unwrap_or_default();
        let mut client = reqwest::Client::builder()
            .user_agent(concat!("daemon-run/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        if self.url.starts_with("http://") {
            client = client.tls_certs_only([]);
        }
        let client = client.build().map_err(|error| {
            // Its text would name the address, with what is secret in it.
            ClientError::Prepare(Box::new(error.without_url()))
        })?;
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
