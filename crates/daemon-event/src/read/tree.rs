//! Walks a JSON body once, borrowing, and stops only at the paths that a kind names.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// A value found at a named path.
#[derive(Clone, Debug)]
pub(crate) enum Found<'de> {
    Text(Cow<'de, str>),
    Number(u64),
    Flag(bool),
    /// A JSON `null`.
    Null,
    /// An object or a list began here.
    Container,
}

/// The paths of one kind, as a tree; leaves carry the index of their path.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    children: Vec<(&'static str, Self)>,
    element: Option<Box<Self>>,
    leaves: Vec<usize>,
    keys: Option<usize>,
}

impl Tree {
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

    fn child(&self, key: &str) -> Option<&Self> {
        self.children
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, tree)| tree)
    }
}

/// Reads one JSON value, reporting what stands at the tree's paths.
pub(crate) struct Walk<'t, 'f, 'de> {
    pub(crate) tree: &'t Tree,
    pub(crate) found: &'f mut Vec<(usize, Found<'de>)>,
}

impl<'de> Walk<'_, '_, 'de> {
    fn report(&mut self, value: &Found<'de>) {
        for leaf in &self.tree.leaves {
            self.found.push((*leaf, value.clone()));
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// An object's key, borrowed where it holds no escape.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
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

impl<'de> Visitor<'de> for Walk<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(mut self, text: &'de str) -> Result<(), E> {
        self.report(&Found::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        if !self.tree.leaves.is_empty() {
            self.report(&Found::Text(Cow::Owned(text.to_owned())));
        }
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.report(&Found::Number(number));
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.report(&Found::Text(Cow::Owned(number.to_string())));
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.report(&Found::Text(Cow::Owned(number.to_string())));
        Ok(())
    }

    fn visit_bool<E>(mut self, flag: bool) -> Result<(), E> {
        self.report(&Found::Flag(flag));
        Ok(())
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.report(&Found::Null);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.report(&Found::Container);
        while let Some(key) = map.next_key_seed(Key)? {
            match self.tree.child(&key) {
                Some(tree) => map.next_value_seed(Walk {
                    tree,
                    found: &mut *self.found,
                })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if let Some(leaf) = self.tree.keys {
                self.found.push((leaf, Found::Text(key)));
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.report(&Found::Container);
        let Some(tree) = &self.tree.element else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        // A list that is there and empty is a fact: every path through it is reported as known.
        mark_known(tree, self.found);
        while seq
            .next_element_seed(Walk {
                tree,
                found: &mut *self.found,
            })?
            .is_some()
        {}
        Ok(())
    }
}

fn mark_known(tree: &Tree, found: &mut Vec<(usize, Found<'_>)>) {
    found.extend(tree.leaves.iter().map(|leaf| (*leaf, Found::Container)));
    for (_, child) in &tree.children {
        mark_known(child, found);
    }
}

/// Reads a whole body, which must be one JSON object and nothing after it.
pub(crate) fn walk<'de>(
    tree: &Tree,
    body: &'de str,
) -> Result<Vec<(usize, Found<'de>)>, serde_json::Error> {
    if !body.trim_start().starts_with('{') {
        return Err(serde_json::Error::custom("not a JSON object"));
    }
    let mut found = Vec::with_capacity(32);
    let mut deserializer = serde_json::Deserializer::from_str(body);
    Walk {
        tree,
        found: &mut found,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}
