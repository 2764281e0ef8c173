//! GitHub Apps: JSON web tokens, installations and their tokens.

use std::time::Duration;

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::state::{GithubAccess, GithubApp, GithubInstallation, GithubState, GithubToken};
use super::view;
use crate::clock::to_seconds_text;
use crate::http::HttpResponse;

/// What the service allows between `exp` and its own clock.
const MAX_LIFE: u64 = 600;
/// The service accepts clocks that are ahead by this many seconds.
const MAX_AHEAD: u64 = 60;
const TOKEN_LIFE: Duration = Duration::from_secs(3600);

type Answer = Result<HttpResponse, GithubError>;

/// Checks a JSON web token and returns the login of its App.
pub(crate) fn authenticate(
    state: &GithubState,
    token: &str,
    now: Duration,
) -> Result<String, GithubError> {
    let refused = |message: &str| GithubError::new(401, message);
    let undecodable = || refused("A JSON web token could not be decoded");
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else {
        return Err(undecodable());
    };
    let json = |part: &str| -> Option<Value> { serde_json::from_slice(&base64url(part)?).ok() };
    let header = json(header).ok_or_else(undecodable)?;
    let claims = json(claims).ok_or_else(undecodable)?;
    let signature = base64url(signature).ok_or_else(undecodable)?;
    let app = state.app.as_ref().ok_or_else(undecodable)?;
    if header["alg"] != "RS256" || signature.is_empty() {
        return Err(undecodable());
    }
    let (issuer, now) = (&claims["iss"], now.as_secs());
    let id = issuer.as_u64().or_else(|| issuer.as_str()?.parse().ok());
    if id != Some(app.id) {
        return Err(refused("'Issuer' claim ('iss') must be an Integer"));
    }
    let expires_at = claims["exp"]
        .as_u64()
        .filter(|expires_at| *expires_at > now);
    let expired = "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires";
    if expires_at.ok_or_else(|| refused(expired))? > now + MAX_LIFE {
        return Err(refused(
            "'Expiration time' claim ('exp') is too far in the future",
        ));
    }
    let issued_at = claims["iat"]
        .as_u64()
        .filter(|issued_at| *issued_at <= now + MAX_AHEAD);
    let unissued = "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
    issued_at.ok_or_else(|| refused(unissued))?;
    let signed = token.rsplit_once('.').map_or("", |(signed, _)| signed);
    if !(app.verify)(signed.as_bytes(), &signature) {
        return Err(undecodable());
    }
    Ok(app.login())
}

/// Decodes base64 of the alphabet for URLs, without padding.
fn base64url(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut acc = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits: usize = 0;
        for at in 0..4 {
            let digit = match chunk.get(at) {
                Some(byte) => ALPHABET.iter().position(|it| it == byte)?,
                None => 0,
            };
            bits = bits << 6 | digit;
        }
        let bytes = bits.to_be_bytes();
        let begin = bytes.len() - 3;
        acc.extend_from_slice(bytes.get(begin..begin + chunk.len() - 1)?);
    }
    (text.len() % 4 != 1).then_some(acc)
}

impl GithubApp {
    pub(crate) fn login(&self) -> String {
        format!("{}[bot]", self.slug)
    }
}

fn app<'c>(call: &'c GithubCall<'_>) -> Result<&'c GithubApp, GithubError> {
    call.state.app.as_ref().ok_or_else(GithubError::not_found)
}

pub(crate) fn get(call: &mut GithubCall<'_>) -> Answer {
    let app = call.view().app(app(call)?);
    Ok(HttpResponse::json(200, &app))
}

/// Returns the installation that a repository is part of.
pub(crate) fn installation(call: &mut GithubCall<'_>) -> Answer {
    let (app, repo) = (app(call)?, call.repo()?);
    let mut installations = call.state.installations.iter();
    let found = installations.find(|it| it.repos.contains(&repo.full_name()));
    let id = found.ok_or_else(GithubError::not_found)?.id;
    let url = format!("{}/app/installations/{id}/access_tokens", call.base);
    let body = json!({
        "id": id, "app_id": app.id, "app_slug": app.slug, "target_type": "Organization",
        "account": call.view().user(&repo.owner), "repository_selection": "selected",
        "access_tokens_url": url, "permissions": view::permissions(), "suspended_at": null,
    });
    Ok(HttpResponse::json(200, &body))
}

/// Creates a token of an installation, for all its repositories or those that the request names.
pub(crate) fn access_token(call: &mut GithubCall<'_>) -> Answer {
    let id = call.number("id")?;
    let named = call.texts("repositories")?;
    let login = app(call)?.login();
    let found = call.state.installations.iter().find(|it| it.id == id);
    let installation: GithubInstallation = found.ok_or_else(GithubError::not_found)?.clone();
    let short = |full_name: &String| full_name.rsplit('/').next().unwrap_or_default().to_owned();
    let repos: Vec<String> = match &named {
        None => installation.repos.clone(),
        Some(named) => {
            let all = installation.repos.iter();
            all.filter(|repo| named.contains(&short(repo)))
                .cloned()
                .collect()
        }
    };
    if named.is_some_and(|named| named.len() != repos.len()) {
        let message = "There is at least one repository that does not exist or is not accessible to the parent installation.";
        return Err(GithubError::new(422, message));
    }
    let expires_at = call.now + TOKEN_LIFE;
    let token = format!("ghs_fake{:x}", call.state.next_id());
    let entry = GithubToken {
        login,
        access: GithubAccess::Write,
        installation: Some(GithubInstallation { id, repos }),
        expires_at: Some(expires_at),
    };
    call.state.tokens.insert(token.clone(), entry);
    let body = json!({
        "token": token, "expires_at": to_seconds_text(expires_at),
        "permissions": view::permissions(), "repository_selection": "selected",
    });
    Ok(HttpResponse::json(201, &body))
}

#[cfg(test)]
mod tests {
    use super::base64url;

    #[test]
    fn base64_is_decoded_without_padding() {
        let rows: [(&str, Option<&[u8]>); 7] = [
            ("", Some(b"")),
            ("Zg", Some(b"f")),
            ("Zm8", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("-_8", Some(&[0xfb, 0xff])),
            ("Z", None),
            ("Zg==", None),
        ];
        for (text, expected) in rows {
            assert_eq!(base64url(text).as_deref(), expected, "{text}");
        }
    }
}
