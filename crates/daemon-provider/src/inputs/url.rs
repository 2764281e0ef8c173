//! The parts of a URL that may contain secrets: the user information, and the values of the query.

use crate::redact::REDACTED;

/// A URL, split into public parts and secrets.
struct UrlParts<'a> {
    /// The scheme with `://`.
    scheme: &'a str,
    user: Option<&'a str>,
    /// Host, port and path.
    place: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

fn parts(text: &str) -> Option<UrlParts<'_>> {
    let at = text.find("://")? + "://".len();
    let (scheme, rest) = text.split_at(at);
    let (rest, fragment) = match rest.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (rest, None),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    // The last `@` before the path ends the user information, since a password may contain one.
    let (user, place) = match rest.get(..host_end).and_then(|host| host.rfind('@')) {
        Some(at) => (rest.get(..at), rest.get(at + 1..).unwrap_or_default()),
        None => (None, rest),
    };
    Some(UrlParts {
        scheme,
        user,
        place,
        query,
        fragment,
    })
}

/// Formats a URL without its secrets. Other strings are returned unchanged.
pub(crate) fn redacted(text: &str) -> String {
    let Some(parts) = parts(text) else {
        return text.to_owned();
    };
    let mut acc = parts.scheme.to_owned();
    if parts.user.is_some() {
        acc.extend([REDACTED, "@"]);
    }
    acc.push_str(parts.place);
    if let Some(query) = parts.query {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) => format!("{name}={REDACTED}"),
            None if pair.is_empty() => String::new(),
            // A query without `=` may itself be a token.
            None => REDACTED.to_owned(),
        });
        acc.push('?');
        acc.push_str(&pairs.collect::<Vec<_>>().join("&"));
    }
    if parts.fragment.is_some() {
        acc.extend(["#", REDACTED]);
    }
    acc
}

/// Returns the secrets of a URL, as written and percent-decoded.
pub(crate) fn secrets(text: &str) -> Vec<String> {
    let Some(parts) = parts(text) else {
        return Vec::new();
    };
    let users = parts.user.into_iter().flat_map(|user| {
        let halves = user
            .split_once(':')
            .map(|(name, password)| [name, password]);
        std::iter::once(user).chain(halves.into_iter().flatten())
    });
    let values = parts.query.into_iter().flat_map(|query| {
        query
            .split('&')
            .map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value))
    });
    let all = users.chain(values).chain(parts.fragment);
    all.filter(|secret| !secret.is_empty())
        // A server reads the decoded form, and may print it.
        .flat_map(|secret| [secret.to_owned(), decoded(secret)])
        .collect()
}

/// Decodes percent-encoding, and `+` as a space.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let pair = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let escaped = pair
            .filter(|_| byte == b'%')
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (byte, escaped) {
            (_, Some(escaped)) => {
                bytes.push(escaped);
                rest = after.get(2..).unwrap_or_default();
            }
            (byte, None) => {
                bytes.push(if byte == b'+' { b' ' } else { byte });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
