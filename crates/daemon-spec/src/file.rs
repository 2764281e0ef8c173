//! The typed view of one daemon file.

use crate::{Shape, Source, Span, Text};

/// The six fields of the format, in the order a file usually has them.
pub const FIELD_NAMES: [&str; 6] = ["id", "purpose", "watch", "routines", "deny", "schedule"];

/// One field of the front matter: there, not there, or there with the wrong type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// The key does not occur.
    #[default]
    Absent,
    /// The key occurs with a value of the right type, which may still be empty.
    Present {
        /// The key's place.
        key: Span,
        /// The value.
        value: T,
    },
    /// The key occurs with a value of another type.
    Mistyped {
        /// The key's place.
        key: Span,
        /// What stands there.
        value: Mistyped,
    },
}

impl<T> Field<T> {
    /// Returns the value if the field has one of the right type.
    #[must_use]
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Present { value, .. } => Some(value),
            Self::Absent | Self::Mistyped { .. } => None,
        }
    }

    /// Returns the key's place if the key occurs.
    #[must_use]
    pub const fn key(&self) -> Option<Span> {
        match self {
            Self::Present { key, .. } | Self::Mistyped { key, .. } => Some(*key),
            Self::Absent => None,
        }
    }

    /// Reports whether the key does not occur.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl Field<Text> {
    pub(crate) fn of_entry(key: Span, entry: Entry) -> Self {
        match entry {
            Entry::Text(value) => Self::Present { key, value },
            Entry::Mistyped(value) => Self::Mistyped { key, value },
        }
    }
}

/// A value that is not what its field, or its list, takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistyped {
    /// Its text in the file; empty, after the key or dash, for a value that is left out.
    pub span: Span,
    /// Its kind.
    pub shape: Shape,
    /// The string it is written as, when it is a scalar.
    pub text: Option<Text>,
}

/// A list of the front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// From the first entry's dash, or the opening bracket, to the end of the last entry.
    pub span: Span,
    /// How it is laid out.
    pub layout: Layout,
    /// The entries in order.
    pub entries: Vec<Entry>,
}

impl List {
    /// Walks the entries that are text.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.entries.iter().filter_map(Entry::text)
    }
}

/// How a list or mapping is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One entry a line, with dashes.
    Block,
    /// Between brackets.
    Flow,
    /// Through an alias or a merge key; its entries stand elsewhere in the file.
    Referenced,
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A string.
    Text(Text),
    /// Anything else.
    Mistyped(Mistyped),
}

impl Entry {
    /// Returns the string, if it is one.
    #[must_use]
    pub const fn text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            Self::Mistyped(_) => None,
        }
    }

    /// Returns the entry's place: the words of a string, else the value's text.
    #[must_use]
    pub const fn span(&self) -> Span {
        match self {
            Self::Text(text) => text.span,
            Self::Mistyped(value) => value.span,
        }
    }

    /// Returns the whole value's place, quotes included.
    #[must_use]
    pub const fn token(&self) -> Span {
        match self {
            Self::Text(text) => text.token,
            Self::Mistyped(value) => value.span,
        }
    }

    /// Returns the kind of value.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        match self {
            Self::Text(_) => Shape::Text,
            Self::Mistyped(value) => value.shape,
        }
    }
}

/// One key of the front matter with its value, known to the format or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key as it reads.
    pub name: String,
    /// The key's place; inside the quotes of a quoted key.
    pub key: Span,
    /// The value's place, quotes included.
    pub value: Span,
    /// The value's kind.
    pub shape: Shape,
}

/// How much of the front matter could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reading {
    /// None of it: the fields are absent because nothing was read.
    #[default]
    Nothing,
    /// Parts of it, around an error: a field that is absent may only be hidden.
    Parts,
    /// All of it.
    Whole,
}

/// The fields of a front matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) id: Field<Text>,
    pub(crate) purpose: Field<Text>,
    pub(crate) watch: Field<List>,
    pub(crate) routines: Field<List>,
    pub(crate) deny: Field<List>,
    pub(crate) schedule: Field<Text>,
    pub(crate) members: Vec<Member>,
}

impl Fields {
    /// Returns the field of that name if it takes text.
    pub(crate) fn text_mut(&mut self, name: &str) -> Option<&mut Field<Text>> {
        match name {
            "id" => Some(&mut self.id),
            "purpose" => Some(&mut self.purpose),
            "schedule" => Some(&mut self.schedule),
            _ => None,
        }
    }

    /// Returns the field of that name if it takes a list.
    pub(crate) fn list_mut(&mut self, name: &str) -> Option<&mut Field<List>> {
        match name {
            "watch" => Some(&mut self.watch),
            "routines" => Some(&mut self.routines),
            "deny" => Some(&mut self.deny),
            _ => None,
        }
    }

    /// Adds a member; false when an earlier one has the same name.
    pub(crate) fn add(&mut self, member: Member) -> bool {
        let is_first = self
            .members
            .iter()
            .all(|earlier| earlier.name != member.name);
        self.members.push(member);
        is_first
    }
}

/// A daemon file, read as far as it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonFile {
    pub(crate) source: Source,
    pub(crate) reading: Reading,
    pub(crate) front_matter: Option<Span>,
    pub(crate) is_flow: bool,
    pub(crate) body: Span,
    pub(crate) fields: Fields,
}

impl DaemonFile {
    /// Returns the file's content, byte for byte as it was given.
    #[must_use]
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Gives the content back, byte for byte as it was given.
    #[must_use]
    pub fn into_source(self) -> Source {
        self.source
    }

    /// Returns how much of the front matter could be read.
    ///
    /// Only after [`Reading::Whole`] does an absent field mean that the author left it out.
    #[must_use]
    pub const fn reading(&self) -> Reading {
        self.reading
    }

    /// Returns what stands between the fences, if an opening fence was found.
    #[must_use]
    pub const fn front_matter(&self) -> Option<Span> {
        self.front_matter
    }

    /// Returns where the body is: everything after the closing fence's line.
    #[must_use]
    pub const fn body(&self) -> Span {
        self.body
    }

    /// Returns the body's text; empty when the file is not UTF-8.
    #[must_use]
    pub fn body_text(&self) -> &str {
        self.source.slice(self.body)
    }

    /// Returns the field `id`.
    #[must_use]
    pub const fn id(&self) -> &Field<Text> {
        &self.fields.id
    }

    /// Returns the field `purpose`.
    #[must_use]
    pub const fn purpose(&self) -> &Field<Text> {
        &self.fields.purpose
    }

    /// Returns the field `watch`.
    #[must_use]
    pub const fn watch(&self) -> &Field<List> {
        &self.fields.watch
    }

    /// Returns the field `routines`.
    #[must_use]
    pub const fn routines(&self) -> &Field<List> {
        &self.fields.routines
    }

    /// Returns the field `deny`.
    #[must_use]
    pub const fn deny(&self) -> &Field<List> {
        &self.fields.deny
    }

    /// Returns the field `schedule`.
    #[must_use]
    pub const fn schedule(&self) -> &Field<Text> {
        &self.fields.schedule
    }

    /// Returns every key of the front matter in order: known, unknown and repeated ones.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.fields.members
    }

    /// Walks the keys the format does not know.
    pub fn unknown(&self) -> impl Iterator<Item = &Member> {
        self.members()
            .iter()
            .filter(|member| !FIELD_NAMES.contains(&member.name.as_str()))
    }

    /// Returns the lines to delete so that the key at `key` is gone, with its value.
    ///
    /// `None` when no member has that key, or the front matter is written between braces.
    #[must_use]
    pub fn member_removal(&self, key: Span) -> Option<Span> {
        let member = self
            .members()
            .iter()
            .find(|member| member.key == key && !self.is_flow)?;
        Some(self.lines_over(Span::new(
            member.key.start,
            member.value.end.max(member.key.end),
        )))
    }

    /// Returns what to delete so that entry `index` of `list` is gone, and no other.
    ///
    /// `None` when there is no such entry, or the list is a reference.
    #[must_use]
    pub fn entry_removal(&self, list: &List, index: usize) -> Option<Span> {
        let token = list.entries.get(index)?.token();
        match list.layout {
            Layout::Referenced => None,
            Layout::Block => Some(self.lines_over(token)),
            Layout::Flow => {
                let before = index
                    .checked_sub(1)
                    .and_then(|index| list.entries.get(index));
                let after = list.entries.get(index + 1);
                Some(match (before, after) {
                    (Some(before), _) => Span::new(before.token().end, token.end),
                    (None, Some(after)) => Span::new(token.start, after.token().start),
                    (None, None) => token,
                })
            }
        }
    }

    fn lines_over(&self, span: Span) -> Span {
        // An empty span may stand right at a line break, which belongs to the line it ends.
        let last = if span.is_empty() {
            span.start
        } else {
            span.end - 1
        };
        Span::new(
            self.source.line_at(span.start).start,
            self.source.line_at(last).end,
        )
    }
}
