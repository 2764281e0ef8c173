//! A GitHub App: its key signs short-lived assertions, which are exchanged for a token of each installation.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use reqwest::header::HeaderValue;
use rustls::SignatureScheme;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::sign::SigningKey;
use serde::Deserialize;
use serde_json::json;

use super::client::{Request, ServiceApi};
use super::credentials::ApiToken;
use super::failure::{ApiError, ApiErrorKind, RequestEffect};

/// How far before now an assertion begins, for clocks that differ.
const BACKDATE: SignedDuration = SignedDuration::from_secs(60);
/// How long after now an assertion ends; GitHub accepts at most ten minutes.
const ASSERTION: SignedDuration = SignedDuration::from_mins(9);
/// How long before its end a token of an installation is replaced.
const MARGIN: SignedDuration = SignedDuration::from_mins(5);

/// The private RSA key of a GitHub App. Its `Debug` output does not contain it.
#[derive(Clone)]
pub struct AppKey(Arc<dyn SigningKey>);

/// The error for a string that is not the PEM form of an RSA key; it does not contain the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of a GitHub App is an RSA key in PEM form")]
pub struct InvalidKey;

impl FromStr for AppKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let der = PrivateKeyDer::from_pem_slice(text.as_bytes());
        let key = der
            .ok()
            .and_then(|der| rustls::crypto::ring::sign::any_supported_type(&der).ok());
        let key = key.filter(|key| {
            key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])
                .is_some()
        });
        key.map(Self).ok_or(InvalidKey)
    }
}

impl AppKey {
    /// Signs an assertion that names the App.
    fn assertion(&self, app: u64, now: Timestamp) -> Option<String> {
        let claims = json!({
            "iat": (now - BACKDATE).as_second(),
            "exp": (now + ASSERTION).as_second(),
            "iss": app.to_string(),
        });
        let header = json!({"alg": "RS256", "typ": "JWT"});
        let encoded = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signer = self.0.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])?;
        let signature = signer.sign(signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppKey(…)")
    }
}

/// A GitHub App, and the tokens of its installations.
#[derive(Clone)]
pub struct AppCredentials {
    id: u64,
    key: AppKey,
    /// The only installation that is used; without it, GitHub is asked for that of each repository.
    installation: Option<u64>,
    on_token: Arc<dyn Fn(&str) + Send + Sync>,
    cache: Arc<Mutex<Cache>>,
}

#[derive(Default)]
struct Cache {
    /// The installations of repositories, by their names in lower case.
    installations: HashMap<String, u64>,
    tokens: HashMap<u64, Minted>,
}

#[derive(Clone)]
struct Minted {
    header: HeaderValue,
    until: Timestamp,
}

#[derive(Deserialize)]
struct InstallationRow {
    id: u64,
}

#[derive(Deserialize)]
struct TokenRow {
    token: String,
    expires_at: String,
}

impl fmt::Debug for AppCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppCredentials")
            .field("id", &self.id)
            .field("installation", &self.installation)
            .finish_non_exhaustive()
    }
}

impl AppCredentials {
    /// Makes an App. Each token that it gets is passed to `on_token` before it is used, so that logs can be kept free of it.
    pub fn new(
        id: u64,
        key: AppKey,
        installation: Option<u64>,
        on_token: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            id,
            key,
            installation,
            on_token: Arc::new(on_token),
            cache: Arc::default(),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the header for a request: a token of the installation of the repository that the path is below, else the
    /// App's own assertion.
    pub(super) async fn authorization(
        &self,
        api: &ServiceApi,
        path: &[&str],
    ) -> Result<HeaderValue, ApiError> {
        // Requests about the App itself.
        if matches!(path, ["app", ..] | ["repos", _, _, "installation"]) {
            return self.own(api);
        }
        let installation = self.installation(api, path).await?;
        self.token(api, installation).await
    }

    /// Drops the token that a request used; false if the request had the App's own assertion.
    pub(super) fn forget(&self, path: &[&str]) -> bool {
        let mut cache = self.cache();
        let installation = self.known_installation(&cache, path);
        installation.is_some_and(|id| cache.tokens.remove(&id).is_some())
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().expect("no holder panics")
    }

    fn known_installation(&self, cache: &Cache, path: &[&str]) -> Option<u64> {
        let of_repo = || cache.installations.get(&repo_of(path)?).copied();
        self.installation.or_else(of_repo)
    }

    /// Returns the header with the App's own assertion.
    fn own(&self, api: &ServiceApi) -> Result<HeaderValue, ApiError> {
        let assertion = self.key.assertion(self.id, api.clock().now());
        let token = assertion.and_then(|assertion| assertion.parse::<ApiToken>().ok());
        token.map(|token| token.header()).ok_or_else(|| {
            let why = "the App's key does not sign";
            ApiError::new(ApiErrorKind::Unsent, RequestEffect::None, why)
        })
    }

    async fn installation(&self, api: &ServiceApi, path: &[&str]) -> Result<u64, ApiError> {
        if let Some(id) = self.known_installation(&self.cache(), path) {
            return Ok(id);
        }
        let (Some(name), ["repos", owner, repo, ..]) = (repo_of(path), path) else {
            let why = "a GitHub App asks only about repositories, unless its installation is set";
            return Err(ApiError::refused(RequestEffect::None, why));
        };
        let request = Request {
            method: Method::GET,
            path: &["repos", owner, repo, "installation"],
            query: &[],
            body: None,
            effect: RequestEffect::None,
            tag: None,
            about: None,
        };
        let answer = api.follow(&request, self.own(api)?).await;
        let answer = answer.map_err(|error| error.context("the App's installation"))?;
        let row: InstallationRow = answer.json()?;
        self.cache().installations.insert(name, row.id);
        Ok(row.id)
    }

    async fn token(&self, api: &ServiceApi, installation: u64) -> Result<HeaderValue, ApiError> {
        let now = api.clock().now();
        let known = self.cache().tokens.get(&installation).cloned();
        if let Some(known) = known.filter(|known| known.until > now + MARGIN) {
            return Ok(known.header);
        }
        let id = installation.to_string();
        let request = Request {
            method: Method::POST,
            path: &["app", "installations", &id, "access_tokens"],
            query: &[],
            body: None,
            // A token that got lost does nothing, and the next request gets another.
            effect: RequestEffect::None,
            tag: None,
            about: None,
        };
        let answer = api.follow(&request, self.own(api)?).await;
        let answer = answer.map_err(|error| error.context("the App's token"))?;
        let row: TokenRow = answer.json()?;
        (self.on_token)(&row.token);
        let unusable =
            |why: String| ApiError::new(ApiErrorKind::Unanswered, RequestEffect::None, why);
        let token: Result<ApiToken, _> = row.token.parse();
        let header = token.map_err(|error| unusable(error.to_string()))?.header();
        let until = row.expires_at.parse::<Timestamp>();
        let until = until.map_err(|error| unusable(format!("the token's end: {error}")))?;
        let minted = Minted {
            header: header.clone(),
            until,
        };
        self.cache().tokens.insert(installation, minted);
        Ok(header)
    }
}

/// Returns the repository that a request is about, in lower case, because GitHub ignores case.
fn repo_of(path: &[&str]) -> Option<String> {
    match path {
        ["repos", owner, name, ..] => Some(format!("{owner}/{name}").to_lowercase()),
        _ => None,
    }
}
