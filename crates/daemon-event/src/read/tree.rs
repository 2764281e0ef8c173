//! Reads selected paths of a JSON body in one pass, without building a document.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::scan::scan;

/// A value found at one of the paths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PathValue<'de> {
    // Negative numbers and fractions are kept as text: no field counts below zero, and ids must not be rounded.
    Text(Cow<'de, str>),
    Number(u64),
    Flag(bool),
    /// A JSON `null`.
    Null,
    /// The start of an object or a list.
    Container,
}

/// The paths of one kind as a tree; leaves carry the index of their path.
#[derive(Debug, Default)]
pub(crate) struct PathTree {
    children: Vec<(&'static str, Self)>,
    /// The hashes of the children's names, a bit for each: most keys of a body have another hash.
    hashes: u64,
    pub(crate) element: Option<Box<Self>>,
    pub(crate) leaves: Vec<usize>,
    pub(crate) keys: Option<usize>,
}

impl PathTree {
    /// Adds a path such as `issue.labels[].name`, or `changes.*` for the keys of an object.
    pub(crate) fn insert(&mut self, path: &'static str, leaf: usize) {
        let mut node = self;
        for part in path.split('.') {
            if part == "*" {
                node.keys = Some(leaf);
                return;
            }
            let name = part.trim_end_matches("[]");
            let at = node.children.iter().position(|(child, _)| *child == name);
            let at = at.unwrap_or_else(|| {
                node.hashes |= hash_bit(name.as_bytes());
                node.children.push((name, Self::default()));
                node.children.len() - 1
            });
            node = &mut node.children[at].1;
            for _ in 0..(part.len() - name.len()) / 2 {
                node = node.element.get_or_insert_default();
            }
        }
        node.leaves.push(leaf);
    }

    /// Returns the paths below a key.
    #[inline]
    pub(crate) fn child(&self, key: &[u8]) -> Option<&Self> {
        if self.hashes & hash_bit(key) == 0 {
            return None;
        }
        self.children
            .iter()
            .find(|(name, _)| name.as_bytes() == key)
            .map(|(_, tree)| tree)
    }
}

/// Returns a bit that depends on a name's length and its first and last byte.
#[inline]
fn hash_bit(name: &[u8]) -> u64 {
    let ends = match name {
        [] => 0,
        [one] => usize::from(*one),
        [first, .., last] => usize::from(*first) + 5 * usize::from(*last),
    };
    1 << ((ends + 3 * name.len()) % 64)
}

/// Visits one JSON value and records the values at the tree's paths.
pub(crate) struct PathVisitor<'t, 'f, 'de> {
    pub(crate) tree: &'t PathTree,
    pub(crate) found: &'f mut Vec<(usize, PathValue<'de>)>,
}

impl<'de> PathVisitor<'_, '_, 'de> {
    fn report(&mut self, value: &PathValue<'de>) {
        for leaf in &self.tree.leaves {
            self.found.push((*leaf, value.clone()));
        }
    }
}

impl<'de> DeserializeSeed<'de> for PathVisitor<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Reads an object's key, borrowing it from the body unless it contains an escape.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

impl<'de> Visitor<'de> for PathVisitor<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(mut self, text: &'de str) -> Result<(), E> {
        self.report(&PathValue::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        if !self.tree.leaves.is_empty() {
            self.report(&PathValue::Text(Cow::Owned(text.to_owned())));
        }
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.report(&PathValue::Number(number));
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.report(&PathValue::Text(Cow::Owned(number.to_string())));
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.report(&PathValue::Text(Cow::Owned(number.to_string())));
        Ok(())
    }

    fn visit_bool<E>(mut self, flag: bool) -> Result<(), E> {
        self.report(&PathValue::Flag(flag));
        Ok(())
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.report(&PathValue::Null);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.report(&PathValue::Container);
        while let Some(key) = map.next_key_seed(KeySeed)? {
            match self.tree.child(key.as_bytes()) {
                Some(tree) => map.next_value_seed(PathVisitor {
                    tree,
                    found: &mut *self.found,
                })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if let Some(leaf) = self.tree.keys {
                self.found.push((leaf, PathValue::Text(key)));
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.report(&PathValue::Container);
        let Some(tree) = &self.tree.element else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        // A list that is present and empty is a fact: every path through it is recorded as known.
        mark_known(tree, self.found);
        while seq
            .next_element_seed(PathVisitor {
                tree,
                found: &mut *self.found,
            })?
            .is_some()
        {}
        Ok(())
    }
}

/// Records an empty list at every path below `tree`.
pub(crate) fn mark_known(tree: &PathTree, found: &mut Vec<(usize, PathValue<'_>)>) {
    found.extend(tree.leaves.iter().map(|leaf| (*leaf, PathValue::Container)));
    for (_, child) in &tree.children {
        mark_known(child, found);
    }
}

/// Reads a whole body, which must be one JSON object without trailing data.
pub(crate) fn walk<'de>(
    tree: &PathTree,
    body: &'de str,
) -> Result<Vec<(usize, PathValue<'de>)>, serde_json::Error> {
    match scan(tree, body) {
        Some(found) => Ok(found),
        None => parse(tree, body),
    }
}

/// Reads a whole body with the parser.
pub(crate) fn parse<'de>(
    tree: &PathTree,
    body: &'de str,
) -> Result<Vec<(usize, PathValue<'de>)>, serde_json::Error> {
    // Checked first because the visitor accepts any JSON value at any depth, the root included.
    if !body.trim_start().starts_with('{') {
        return Err(serde_json::Error::custom("not a JSON object"));
    }
    let mut found = Vec::with_capacity(64);
    let mut deserializer = serde_json::Deserializer::from_str(body);
    PathVisitor {
        tree,
        found: &mut found,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}
