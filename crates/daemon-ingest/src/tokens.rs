//! Bearer tokens of the senders of CloudEvents.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::delivery::Headers;
use crate::error::Rejected;

/// The name of the host's own token.
const HOST: &str = "host";
/// The minimum length of a token, in bytes.
const SHORTEST: usize = 32;
/// The maximum length of a name, in bytes.
const LONGEST_NAME: usize = 64;

/// The tokens by which CloudEvents are accepted, each with the name of its sender.
#[derive(Clone)]
pub struct SenderTokens {
    // Digests have equal lengths, so that a comparison reveals nothing about the length of a token.
    known: Vec<(Box<str>, [u8; 32])>,
}

/// The defect of a file of tokens. It never quotes a line, which may be a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TokenLineError {
    line: usize,
    problem: TokenProblem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum TokenProblem {
    #[error("it is not `name:token`")]
    Shape,
    #[error("a name has 1 to {LONGEST_NAME} letters, digits, `_`, `-` or `.`")]
    Name,
    #[error("`{HOST}` is the name of the host's own token")]
    Reserved,
    #[error("the token has {0} bytes, at least {SHORTEST} are needed")]
    Short(usize),
    #[error("the token has other characters than visible ASCII")]
    Characters,
    #[error("the token is that of another line, or of the host")]
    Repeated,
}

impl SenderTokens {
    /// Creates the set with the host's own token.
    pub fn of_host(token: &str) -> Self {
        Self {
            known: vec![(HOST.into(), digest(token.as_bytes()))],
        }
    }

    /// Adds the tokens of a file: one `name:token` per line; blank lines are ignored.
    ///
    /// Two lines may have the same name, so that a token can be replaced.
    ///
    /// # Errors
    /// Returns the first defect, with the number of its line.
    pub fn with_lines(mut self, text: &str) -> Result<Self, TokenLineError> {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let sender = self.parse(line).map_err(|problem| TokenLineError {
                line: index + 1,
                problem,
            })?;
            self.known.push(sender);
        }
        Ok(self)
    }

    fn parse(&self, line: &str) -> Result<(Box<str>, [u8; 32]), TokenProblem> {
        let (name, token) = line.split_once(':').ok_or(TokenProblem::Shape)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(is_plain) {
            return Err(TokenProblem::Name);
        }
        if name.eq_ignore_ascii_case(HOST) {
            return Err(TokenProblem::Reserved);
        }
        if token.len() < SHORTEST {
            return Err(TokenProblem::Short(token.len()));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenProblem::Characters);
        }
        let digest = digest(token.as_bytes());
        if self.known.iter().any(|(_, known)| *known == digest) {
            return Err(TokenProblem::Repeated);
        }
        Ok((name.into(), digest))
    }

    /// Returns the number of senders' tokens, without the host's own.
    pub fn n_senders(&self) -> usize {
        self.known.len() - 1
    }

    /// Returns the name of the sender whose bearer token the request has.
    pub(crate) fn sender(&self, headers: &Headers) -> Result<&str, Rejected> {
        const NAME: &str = "Authorization";
        let value = headers.only(NAME).map_err(|count| match count {
            0 => Rejected::Unsigned(NAME),
            count => Rejected::Repeated { name: NAME, count },
        })?;
        let presented = digest(bearer(value).ok_or(Rejected::UnknownToken)?);
        // No early exit: the time must not reveal whose token it is.
        let (mut found, mut place) = (Choice::from(0), 0_u64);
        for (at, (_, known)) in (0_u64..).zip(&self.known) {
            let is_it = known.ct_eq(&presented);
            place = u64::conditional_select(&place, &at, is_it);
            found |= is_it;
        }
        let place = usize::try_from(place).expect("it is an index");
        if bool::from(found) {
            Ok(&self.known[place].0)
        } else {
            Err(Rejected::UnknownToken)
        }
    }
}

/// Returns the token of a value of the scheme `Bearer`; HTTP compares schemes in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(b"Bearer".len())?;
    let token = rest.strip_prefix(b" ")?.trim_ascii();
    scheme.eq_ignore_ascii_case(b"Bearer").then_some(token)
}

fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl fmt::Debug for SenderTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SenderTokens({} hidden)", self.known.len())
    }
}
