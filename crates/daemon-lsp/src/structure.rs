//! The outline of a document, and the support files that its body names.

use std::fs;
use std::ops::Range;

use daemon_spec::{FieldList, Span, Text};
use daemon_validate::visible;
use lsp_types::{
    DocumentSymbol, DocumentSymbolResponse, GotoDefinitionResponse, Location, SymbolKind,
};

use crate::document::{OpenDocument, uri_of};

/// Returns the fields with their entries, and the headings of the body.
pub(crate) fn symbols(document: &OpenDocument) -> DocumentSymbolResponse {
    let file = document.file();
    let lists = [file.watch(), file.routines(), file.deny()];
    let fields = file.members().iter().map(|member| {
        let whole = Span::new(member.key.start, member.value.end.max(member.key.end));
        let list = lists.iter().filter_map(|list| list.value());
        let entries: Vec<&Text> = list
            .flat_map(FieldList::texts)
            .filter(|entry| member.value.contains(entry.token))
            .collect();
        let children = entries.into_iter().map(|entry| {
            symbol(
                document,
                &entry.value,
                SymbolKind::STRING,
                (entry.token, entry.span),
            )
        });
        let mut field = symbol(
            document,
            &member.name,
            SymbolKind::FIELD,
            (whole, member.key),
        );
        field.children = Some(children.collect());
        field
    });
    let mut symbols: Vec<DocumentSymbol> = fields.collect();
    let body = file.body();
    symbols.extend(headings(file.body_text()).into_iter().map(|(at, title)| {
        let span = Span::new(body.start + at.start, body.start + at.end);
        symbol(document, title, SymbolKind::STRING, (span, span))
    }));
    DocumentSymbolResponse::Nested(symbols)
}

fn symbol(
    document: &OpenDocument,
    name: &str,
    kind: SymbolKind,
    (whole, name_span): (Span, Span),
) -> DocumentSymbol {
    // The protocol forbids an empty name.
    let name = if name.trim().is_empty() { "-" } else { name };
    #[expect(deprecated, reason = "the type has no other constructor")]
    DocumentSymbol {
        name: visible(name),
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: document.range(whole),
        selection_range: document.range(name_span),
        children: None,
    }
}

/// Returns the headings of a Markdown text, without those in fenced code.
fn headings(body: &str) -> Vec<(Range<usize>, &str)> {
    let (mut acc, mut at, mut fence) = (Vec::new(), 0, None);
    for line in body.split_inclusive('\n') {
        let text = line.trim_end();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| text.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                let title = text.trim_start_matches('#');
                let level = text.len() - title.len();
                if (1..=6).contains(&level) && title.starts_with(' ') {
                    acc.push((at..at + text.len(), title.trim()));
                }
            }
            _ => {}
        }
        at += line.len();
    }
    acc
}

/// Returns the support file that the body names at an offset, if it exists.
pub(crate) fn definition(document: &OpenDocument, byte: usize) -> Option<GotoDefinitionResponse> {
    if byte < document.file().body().start {
        return None;
    }
    let (start, line) = document.line(byte);
    let name = path_at(line, byte - start)?;
    let directory = fs::canonicalize(document.directory()).ok()?;
    // Links are followed only inside of the daemon's directory.
    let target = fs::canonicalize(directory.join(name)).ok()?;
    if !target.starts_with(&directory) || !target.is_file() {
        return None;
    }
    let relative = target.strip_prefix(&directory).ok()?;
    let uri = uri_of(&document.directory().join(relative))?;
    Some(GotoDefinitionResponse::Scalar(Location::new(
        uri,
        lsp_types::Range::default(),
    )))
}

/// Returns the relative path around a column: the target of a link, or words between backticks or blanks.
fn path_at(line: &str, column: usize) -> Option<&str> {
    let (before, after) = line.split_at_checked(column)?;
    let is_end = |c: char| c.is_whitespace() || "()[]<>`\"'".contains(c);
    let start = before.rfind(is_end).map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    let end = column + after.find(is_end).unwrap_or(after.len());
    let path = line.get(start..end)?.split('#').next()?;
    let path = path.trim_end_matches(['.', ',', ';', ':']);
    (!path.is_empty() && !path.starts_with('/')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_in_code_are_none() {
        let body = "# One\ntext\n```\n# no\n```\n### Two ##x\n#no\n####### no\n~~~\n## no\n";
        let titles: Vec<&str> = headings(body).into_iter().map(|(_, title)| title).collect();
        assert_eq!(titles, ["One", "Two ##x"]);
    }

    #[test]
    fn a_path_is_what_surrounds_the_cursor() {
        let line = "see [rules](docs/rules.md#one) and `run.sh`, then notes.md.";
        let at = |word: &str| path_at(line, line.find(word).unwrap() + 1);
        assert_eq!(at("rules.md"), Some("docs/rules.md"));
        assert_eq!(at("run.sh"), Some("run.sh"));
        assert_eq!(at("notes"), Some("notes.md"));
        assert_eq!(path_at("/etc/passwd", 3), None);
        assert_eq!(path_at("a", 7), None);
    }
}
