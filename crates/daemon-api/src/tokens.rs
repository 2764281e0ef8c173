//! The tokens of a host, and who they belong to.

use std::sync::Arc;

use daemon_roster::TokenHash;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::watch;

use crate::ops::Scope;

/// The hash of a token. Hashes have equal lengths, so that a comparison reveals nothing about the length of a secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// Computes the hash of a token.
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Returns the hash as the roster stores those of agents.
    pub(crate) fn of_roster(&self) -> TokenHash {
        TokenHash(self.0)
    }

    /// Reports whether two tokens are equal, in constant time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenHolder {
    /// The name.
    pub actor: String,
    /// What it may do.
    pub scope: Scope,
}

/// Those who have a token in addition to the owner. A clone shares them, so that a reload can replace them.
#[derive(Clone, Debug)]
pub struct TokenHolders(Arc<watch::Sender<HashedTokens>>);

type HashedTokens = Vec<(TokenDigest, TokenHolder)>;

/// Notifies of tokens that are put in force.
pub(crate) type TokenChanges = watch::Receiver<HashedTokens>;

impl Default for TokenHolders {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Vec::new())))
    }
}

impl TokenHolders {
    /// Puts tokens in force, and no others.
    pub fn replace(&self, holders: Vec<(String, TokenHolder)>) {
        let hashed = holders.into_iter();
        let hashed = hashed.map(|(token, holder)| (TokenDigest::of(&token), holder));
        self.0.send_replace(hashed.collect());
    }

    fn of(&self, presented: &TokenDigest) -> Option<TokenHolder> {
        let known = self.0.borrow();
        let mut found = None;
        // All are compared, so that the time says nothing about which one fits.
        for (token, holder) in known.iter() {
            if token.is_same(presented) {
                found = Some(holder);
            }
        }
        found.cloned()
    }
}

/// All tokens of a host: that of the owner, which may do everything, and the others.
#[derive(Clone, Debug)]
pub struct HostTokens {
    own: TokenDigest,
    others: TokenHolders,
}

impl HostTokens {
    /// Combines the token of the owner with those of others.
    pub fn new(own: &str, others: TokenHolders) -> Self {
        Self {
            own: TokenDigest::of(own),
            others,
        }
    }

    /// Reports whether a string is the token of the owner, in constant time.
    pub(crate) fn is_own(&self, presented: &str) -> bool {
        self.own.is_same(&TokenDigest::of(presented))
    }

    /// Returns who a token belongs to; `None` if it is not in force.
    pub(crate) fn holder(&self, presented: &TokenDigest) -> Option<TokenHolder> {
        if self.own.is_same(presented) {
            return Some(TokenHolder {
                actor: "owner".to_owned(),
                scope: Scope::Admin,
            });
        }
        self.others.of(presented)
    }

    /// Returns what is notified when other tokens are put in force.
    pub(crate) fn changes(&self) -> TokenChanges {
        self.others.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_its_holder_until_it_is_replaced() {
        let holder = |actor: &str, scope| TokenHolder {
            actor: actor.to_owned(),
            scope,
        };
        let others = TokenHolders::default();
        let tokens = HostTokens::new("mine", others.clone());
        let of = |token: &str| tokens.holder(&TokenDigest::of(token));
        let mut changes = tokens.changes();
        others.replace(vec![("theirs".to_owned(), holder("ann", Scope::Read))]);
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        assert_eq!(of("mine"), Some(holder("owner", Scope::Admin)));
        assert_eq!(of("theirs"), Some(holder("ann", Scope::Read)));
        assert_eq!([of(""), of("their")], [None, None]);
        assert!(tokens.is_own("mine") && !tokens.is_own("theirs"));
        others.replace(vec![("new".to_owned(), holder("ann", Scope::Operate))]);
        assert_eq!(of("theirs"), None);
        assert_eq!(of("new"), Some(holder("ann", Scope::Operate)));
    }
}
