//! A parsed daemon file with typed fields.

use crate::{Shape, SourceText, Span, Text};

/// The names of the six fields of the format, in their usual order.
pub const FIELD_NAMES: [&str; 6] = ["id", "purpose", "watch", "routines", "deny", "schedule"];

/// A field of the front matter.
///
/// An absent field of a file that was only partly read may exist; see [`DaemonFile::completeness`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// The key does not occur.
    #[default]
    Absent,
    /// The key occurs with a value of the right type. The value can be empty.
    Present {
        /// The byte range of the key.
        key: Span,
        /// The string or list.
        value: T,
    },
    /// The key occurs with a value of another type.
    Mistyped {
        /// The byte range of the key.
        key: Span,
        /// The actual value.
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

    /// Returns the byte range of the key, or `None` if the key does not occur.
    #[must_use]
    pub const fn key(&self) -> Option<Span> {
        match self {
            Self::Present { key, .. } | Self::Mistyped { key, .. } => Some(*key),
            Self::Absent => None,
        }
    }

    /// Returns `true` if the key does not occur.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl Field<Text> {
    pub(crate) fn of_entry(key: Span, entry: ListEntry) -> Self {
        match entry {
            ListEntry::Text(value) => Self::Present { key, value },
            ListEntry::Mistyped(value) => Self::Mistyped { key, value },
        }
    }
}

/// A value whose type does not fit its field or list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistyped {
    /// The byte range of the value. Empty and after the key or dash if there is no value.
    pub span: Span,
    /// The actual type of the value.
    pub shape: Shape,
    /// The author's spelling if the value is a scalar, such as `1.10` for a number.
    pub text: Option<Text>,
}

/// A list of the front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldList {
    /// The byte range from the first dash or the opening bracket to the end of the last entry.
    pub span: Span,
    /// The notation of the list in the file.
    pub layout: Layout,
    /// The entries in source order, including mistyped ones.
    pub entries: Vec<ListEntry>,
}

impl FieldList {
    /// Returns the entries that are strings.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.entries.iter().filter_map(ListEntry::text)
    }
}

/// The notation of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One entry per line, after a dash.
    Block,
    /// Entries between brackets.
    Flow,
    /// An alias or a merge key. The entries are elsewhere in the file.
    Referenced,
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListEntry {
    /// A string.
    Text(Text),
    /// A value of another type.
    Mistyped(Mistyped),
}

impl ListEntry {
    /// Returns the string, or `None` if the entry has another type.
    #[must_use]
    pub const fn text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            Self::Mistyped(_) => None,
        }
    }

    /// Returns the byte range of the entry, without the quotes of a string.
    #[must_use]
    pub const fn span(&self) -> Span {
        match self {
            Self::Text(text) => text.span,
            Self::Mistyped(value) => value.span,
        }
    }

    /// Returns the byte range of the entry, including quotes.
    #[must_use]
    pub const fn token(&self) -> Span {
        match self {
            Self::Text(text) => text.token,
            Self::Mistyped(value) => value.span,
        }
    }

    /// Returns the type of the entry.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        match self {
            Self::Text(_) => Shape::Text,
            Self::Mistyped(value) => value.shape,
        }
    }
}

/// A key of the front matter with its value. The key can be unknown to the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key after YAML's escapes.
    pub name: String,
    /// The byte range of the key, without quotes.
    pub key: Span,
    /// The byte range of the value, including quotes.
    pub value: Span,
    /// The type of the value.
    pub shape: Shape,
}

/// The part of the front matter that could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// Nothing was read, so every field is absent.
    #[default]
    Nothing,
    /// The front matter contains an error. An absent field may be hidden by it.
    Parts,
    /// The whole front matter was read. An absent field does not occur.
    Whole,
}

/// The fields and members of a front matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) id: Field<Text>,
    pub(crate) purpose: Field<Text>,
    pub(crate) watch: Field<FieldList>,
    pub(crate) routines: Field<FieldList>,
    pub(crate) deny: Field<FieldList>,
    pub(crate) schedule: Field<Text>,
    pub(crate) members: Vec<Member>,
}

impl Fields {
    /// Returns the field `name` if its type is a string.
    pub(crate) fn text_mut(&mut self, name: &str) -> Option<&mut Field<Text>> {
        match name {
            "id" => Some(&mut self.id),
            "purpose" => Some(&mut self.purpose),
            "schedule" => Some(&mut self.schedule),
            _ => None,
        }
    }

    /// Returns the field `name` if its type is a list.
    pub(crate) fn list_mut(&mut self, name: &str) -> Option<&mut Field<FieldList>> {
        match name {
            "watch" => Some(&mut self.watch),
            "routines" => Some(&mut self.routines),
            "deny" => Some(&mut self.deny),
            _ => None,
        }
    }

    /// Adds a member. Returns `false` if an earlier member has the same name.
    pub(crate) fn add(&mut self, member: Member) -> bool {
        // A linear search: the limits allow a few thousand keys, and a daemon file has about six.
        let is_first = self
            .members
            .iter()
            .all(|earlier| earlier.name != member.name);
        self.members.push(member);
        is_first
    }
}

/// A parsed daemon file.
///
/// It owns the bytes of the file. Fields are available as far as the front matter could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonFile {
    pub(crate) source: SourceText,
    pub(crate) completeness: Completeness,
    pub(crate) front_matter: Option<Span>,
    pub(crate) is_flow: bool,
    pub(crate) body: Span,
    pub(crate) fields: Fields,
}

impl DaemonFile {
    /// Returns the content of the file, with the exact bytes that were parsed.
    #[must_use]
    pub const fn source(&self) -> &SourceText {
        &self.source
    }

    /// Returns the content of the file and drops the parsed fields.
    #[must_use]
    pub fn into_source(self) -> SourceText {
        self.source
    }

    /// Returns which part of the front matter could be read.
    ///
    /// Only with [`Completeness::Whole`] does an absent field mean that the author left it out.
    #[must_use]
    pub const fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// Returns the byte range between the fences, or `None` without an opening fence.
    #[must_use]
    pub const fn front_matter(&self) -> Option<Span> {
        self.front_matter
    }

    /// Returns the byte range of the body: everything after the line of the closing fence.
    #[must_use]
    pub const fn body(&self) -> Span {
        self.body
    }

    /// Returns the body. It is empty if the file is not UTF-8.
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
    pub const fn watch(&self) -> &Field<FieldList> {
        &self.fields.watch
    }

    /// Returns the field `routines`.
    #[must_use]
    pub const fn routines(&self) -> &Field<FieldList> {
        &self.fields.routines
    }

    /// Returns the field `deny`.
    #[must_use]
    pub const fn deny(&self) -> &Field<FieldList> {
        &self.fields.deny
    }

    /// Returns the field `schedule`.
    #[must_use]
    pub const fn schedule(&self) -> &Field<Text> {
        &self.fields.schedule
    }

    /// Returns all keys of the front matter in source order, including unknown and repeated ones.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.fields.members
    }

    /// Returns the keys that are not fields of the format.
    pub fn unknown(&self) -> impl Iterator<Item = &Member> {
        self.members()
            .iter()
            .filter(|member| !FIELD_NAMES.contains(&member.name.as_str()))
    }

    /// Returns the lines to delete in order to remove the key at `key` with its value.
    ///
    /// Returns `None` if no member has that key, or if the front matter is a mapping in braces, where
    /// a line can contain several members.
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

    /// Returns the byte range to delete in order to remove the entry `index` of `list`.
    ///
    /// Returns `None` if there is no such entry, or if the list is a reference, because other fields
    /// can refer to the same list.
    #[must_use]
    pub fn entry_removal(&self, list: &FieldList, index: usize) -> Option<Span> {
        let token = list.entries.get(index)?.token();
        match list.layout {
            Layout::Referenced => None,
            Layout::Block => Some(self.lines_over(token)),
            Layout::Flow => {
                let before = index
                    .checked_sub(1)
                    .and_then(|index| list.entries.get(index));
                let after = list.entries.get(index + 1);
                // The separating comma goes with the entry: the one before it, or after the first.
                Some(match (before, after) {
                    (Some(before), _) => Span::new(before.token().end, token.end),
                    (None, Some(after)) => Span::new(token.start, after.token().start),
                    (None, None) => token,
                })
            }
        }
    }

    fn lines_over(&self, span: Span) -> Span {
        // An empty span can be directly before a line break, which belongs to the line that it ends.
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
