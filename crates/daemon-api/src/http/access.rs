//! Authentication of HTTP requests: the bearer token, login links and sessions.

use std::collections::BTreeSet;
use std::sync::Mutex;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use daemon_records::random;
use daemon_roster::TokenHash;

use crate::ops::Scope;
use crate::tokens::{HostTokens, TokenDigest, TokenHolder};

/// The name of the session cookie.
const COOKIE: &str = "daemon_session";
/// The maximum number of login links, and of sessions; the oldest are dropped first.
const KEPT: usize = 64;
/// The maximum number of results of forms that a session has not seen yet; the oldest are dropped first.
const NOTICES: usize = 8;

/// The tokens, one-time login links, and open sessions.
#[derive(Debug)]
pub struct Access {
    tokens: HostTokens,
    hosts: Hosts,
    state: Mutex<Logins>,
}

/// The values of `Host` that a listener accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// These values, such as `127.0.0.1:7777`: a listener on a loopback address has no other name.
    These(BTreeSet<String>),
    /// Any value: the network decides the name of a public listener, and every route requires the token.
    Any,
}

#[derive(Debug, Default)]
struct Logins {
    links: Vec<String>,
    sessions: Vec<OpenSession>,
}

#[derive(Debug)]
struct OpenSession {
    /// The value of its cookie.
    cookie: String,
    /// The token that its forms contain. The page of another site can make a browser send the cookie, but cannot read this.
    form: String,
    /// The results of its forms, each with the path of the page that shows it once.
    notices: Vec<(String, String)>,
}

/// A session, identified by the cookie that a login link was exchanged for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session(String);

impl Session {
    /// Returns the value of a `Set-Cookie` header.
    pub fn set_cookie(&self) -> String {
        // `HttpOnly` hides the cookie from scripts; with `SameSite=Strict` requests from other sites do not contain it.
        format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", self.0)
    }
}

impl Access {
    /// Creates the state for tokens and the accepted values of `Host`.
    pub fn new(tokens: HostTokens, hosts: Hosts) -> Self {
        Self {
            tokens,
            hosts,
            state: Mutex::new(Logins::default()),
        }
    }

    /// Creates a one-time login code.
    pub fn login_code(&self) -> String {
        let code = random::hex(24);
        let mut state = self.state.lock().expect("no holder panics");
        keep(&mut state.links, code.clone());
        code
    }

    /// Exchanges a login code for a session; a code works once.
    pub fn log_in(&self, code: &str) -> Option<Session> {
        let mut state = self.state.lock().expect("no holder panics");
        let place = state.links.iter().position(|known| same(known, code))?;
        // A link may be in a terminal's history or in a log, so it is valid for one login.
        state.links.remove(place);
        Some(state.open())
    }

    /// Exchanges the bearer token for a session.
    pub fn log_in_with(&self, token: &str) -> Option<Session> {
        let is_right = self.tokens.is_own(token);
        is_right.then(|| self.state.lock().expect("no holder panics").open())
    }

    /// Checks that a request is from no page of another site, and that its `Host` is not a name that was rebound to this address.
    ///
    /// # Errors
    /// Returns 403 otherwise.
    pub fn check_site(&self, method: &Method, headers: &HeaderMap) -> Result<(), StatusCode> {
        // Browsers send this header also without `Origin`. A safe request may come from a link on another site.
        let is_own = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        if !method.is_safe() && !headers.get_all("sec-fetch-site").iter().all(is_own) {
            return Err(StatusCode::FORBIDDEN);
        }
        self.check_host(headers)
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        // HTTP allows exactly one `Host`, and a proxy might use another one of several.
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(StatusCode::FORBIDDEN);
        };
        let host = host.to_str().unwrap_or_default().to_ascii_lowercase();
        let is_known = match &self.hosts {
            Hosts::These(hosts) => hosts.contains(&host),
            Hosts::Any => true,
        };
        if !is_known {
            return Err(StatusCode::FORBIDDEN);
        }
        match headers.get(header::ORIGIN) {
            // Programs send no `Origin`; a browser sends it with every cross-origin request that is not a plain GET.
            None => Ok(()),
            Some(origin) => {
                let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
                // The scheme is `https` behind a proxy that ends TLS.
                let own = ["http://", "https://"]
                    .iter()
                    .any(|scheme| origin.strip_prefix(scheme) == Some(&host));
                if own {
                    Ok(())
                } else {
                    Err(StatusCode::FORBIDDEN)
                }
            }
        }
    }

    /// Returns who sends a request, by its bearer token, in constant time.
    ///
    /// # Errors
    /// Returns 401 without a valid token.
    pub fn caller(&self, headers: &HeaderMap) -> Result<TokenHolder, StatusCode> {
        let token = bearer(headers).ok_or(StatusCode::UNAUTHORIZED)?;
        let holder = self.tokens.holder(&TokenDigest::of(token));
        holder.ok_or(StatusCode::UNAUTHORIZED)
    }

    /// Returns the hash of the bearer token of a request, for a token that is not one of the host.
    pub(super) fn bearer_hash(&self, headers: &HeaderMap) -> Option<TokenHash> {
        bearer(headers).map(|token| TokenDigest::of(token).of_roster())
    }

    /// Checks that the bearer token or the session cookie allows what needs a scope, in constant time. A session has every scope.
    ///
    /// # Errors
    /// Returns 401 if neither is valid, and 403 for a token of a lower scope.
    pub fn check_caller(&self, headers: &HeaderMap, needed: Scope) -> Result<(), StatusCode> {
        if headers.contains_key(header::AUTHORIZATION) {
            let scope = self.caller(headers)?.scope;
            return match scope >= needed {
                true => Ok(()),
                false => Err(StatusCode::FORBIDDEN),
            };
        }
        let found = self.with_session(headers, |_| ());
        found.ok_or(StatusCode::UNAUTHORIZED)
    }

    /// Returns the token that the forms for a request contain; `None` if it has no session. A bearer token has no forms.
    pub(crate) fn form_token(&self, headers: &HeaderMap) -> Option<String> {
        self.with_session(headers, |session| session.form.clone())
    }

    /// Checks that a form is one that the host sent to the session of a request, in constant time.
    ///
    /// # Errors
    /// Returns 401 without a session, and 403 without its token or without the `Origin` of the host's own pages.
    pub(crate) fn check_form(&self, headers: &HeaderMap, token: &str) -> Result<(), StatusCode> {
        let is_own = self.with_session(headers, |session| same(&session.form, token));
        match is_own {
            None => Err(StatusCode::UNAUTHORIZED),
            // Every browser sends `Origin` with a form. If it is there, `check_site` has compared it.
            Some(true) if headers.contains_key(header::ORIGIN) => Ok(()),
            Some(_) => Err(StatusCode::FORBIDDEN),
        }
    }

    /// Keeps the result of a form for the page that the browser is sent to.
    pub(crate) fn leave_notice(&self, headers: &HeaderMap, path: &str, text: &str) {
        self.with_session(headers, |session| {
            if session.notices.len() >= NOTICES {
                session.notices.remove(0);
            }
            session.notices.push((path.to_owned(), text.to_owned()));
        });
    }

    /// Returns the result of a form that a page has to show, once.
    pub(crate) fn take_notice(&self, headers: &HeaderMap, path: &str) -> Option<String> {
        self.with_session(headers, |session| {
            let mut notices = session.notices.iter();
            let place = notices.position(|(of, _)| of == path)?;
            Some(session.notices.remove(place).1)
        })
        .flatten()
    }

    /// Calls a function with the session of a request; `None` if it has none.
    fn with_session<T>(
        &self,
        headers: &HeaderMap,
        call: impl FnOnce(&mut OpenSession) -> T,
    ) -> Option<T> {
        let cookies = headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let presented: Vec<_> = cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='))
            .collect();
        let mut state = self.state.lock().expect("no holder panics");
        let mut known = state.sessions.iter_mut();
        let session = known.find(|known| presented.iter().any(|it| same(&known.cookie, it)));
        session.map(call)
    }
}

impl Logins {
    fn open(&mut self) -> Session {
        let cookie = random::hex(24);
        let session = OpenSession {
            cookie: cookie.clone(),
            form: random::hex(24),
            notices: Vec::new(),
        };
        keep(&mut self.sessions, session);
        Session(cookie)
    }
}

/// Returns the bearer token of a request that has exactly one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut bearers = headers.get_all(header::AUTHORIZATION).iter();
    match (bearers.next(), bearers.next()) {
        (Some(bearer), None) => token_of(bearer),
        _ => None,
    }
}

/// Returns the token of an `Authorization` header of the scheme `Bearer`; HTTP compares schemes in any case.
fn token_of(authorization: &HeaderValue) -> Option<&str> {
    let (scheme, token) = authorization.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}

fn keep<T>(list: &mut Vec<T>, value: T) {
    if list.len() >= KEPT {
        list.remove(0);
    }
    list.push(value);
}

fn same(known: &str, presented: &str) -> bool {
    TokenDigest::of(known).is_same(&TokenDigest::of(presented))
}
