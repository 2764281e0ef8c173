//! Instructions inside a condition, which belong into `routines`: `…, then post a summary`.

use crate::span::Span;

/// Openings that always begin an instruction.
const ORDERS: [&str; 13] = [
    "ignore previous",
    "ignore prior",
    "ignore all",
    "ignore the above",
    "disregard",
    "you must ",
    "you should ",
    "you need to ",
    "you have to ",
    "; please ",
    ", please ",
    ". please ",
    " and please ",
];

/// Connectives after which an imperative is an instruction.
const SEQUELS: [&str; 4] = [", then ", "; then ", ". then ", " and then "];

const IMPERATIVES: [&str; 50] = [
    "add",
    "alert",
    "approve",
    "ask",
    "assign",
    "check",
    "close",
    "comment",
    "create",
    "delete",
    "do",
    "draft",
    "execute",
    "explain",
    "find",
    "fix",
    "give",
    "label",
    "list",
    "make",
    "mark",
    "merge",
    "move",
    "notify",
    "open",
    "ping",
    "post",
    "print",
    "propose",
    "publish",
    "remind",
    "remove",
    "reply",
    "rerun",
    "respond",
    "retry",
    "review",
    "run",
    "send",
    "set",
    "start",
    "suggest",
    "summarise",
    "summarize",
    "tell",
    "thank",
    "triage",
    "update",
    "verify",
    "write",
];

/// Objects of an imperative: without one of them after it, the word may be a noun in a list.
const OBJECTS: [&str; 18] = [
    "a",
    "all",
    "an",
    "each",
    "every",
    "everyone",
    "everything",
    "it",
    "its",
    "me",
    "that",
    "the",
    "their",
    "them",
    "these",
    "this",
    "us",
    "whether",
];

/// Finds an instruction inside a condition; quoted words are data.
pub(crate) fn instruction(condition: &str) -> Option<Span> {
    // `when a comment says "please, close it"` quotes a user and contains no instruction.
    let text = unquoted(condition);
    let orders = ORDERS.iter().filter_map(|order| text.find(order));
    let sequels = SEQUELS.iter().flat_map(|sequel| {
        let found = text.match_indices(sequel);
        found.filter_map(|(at, sequel)| {
            let first = words(&text[at + sequel.len()..]).next()?;
            // `opened and then closed` is a sequence of events: `closed` is not an imperative.
            IMPERATIVES.contains(&first).then_some(at)
        })
    });
    let imperatives = text.match_indices([',', ';', '.']).filter_map(|(at, _)| {
        let mut words = words(&text[at..]).skip_while(|word| matches!(*word, "and" | "also"));
        let (first, second) = (words.next()?, words.next()?);
        // `when a comment, review or check is created` is a list of nouns, some of which are imperatives too.
        (IMPERATIVES.contains(&first) && OBJECTS.contains(&second)).then_some(at)
    });
    // Everything after the first instruction belongs to it.
    let at = orders.chain(sequels).chain(imperatives).min()?;
    let is_before = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.');
    let rest = text[at..].trim_start_matches(is_before);
    let rest = rest.strip_prefix("and ").unwrap_or(rest);
    Some(Span::new(
        text.len() - rest.len(),
        condition.trim_end().len(),
    ))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Returns the line in lower-case ASCII and of the same length, with quoted words blanked out.
fn unquoted(condition: &str) -> String {
    let mut closing = None;
    let mut acc = String::with_capacity(condition.len());
    for c in condition.chars() {
        let is_inside = closing.is_some();
        match (closing, c) {
            (Some(end), _) if c == end => closing = None,
            (None, '"' | '`') => closing = Some(c),
            (None, '“') => closing = Some('”'),
            (None, '«') => closing = Some('»'),
            _ => {}
        }
        if is_inside || closing.is_some() {
            // One byte for each byte: spans of this copy have to be spans of the author's line.
            (0..c.len_utf8()).for_each(|_| acc.push('_'));
        } else {
            acc.push(c.to_ascii_lowercase());
        }
    }
    acc
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<&str> {
        instruction(line).map(|span| span.of(line))
    }

    #[test]
    fn orders_are_found_with_their_words() {
        for (line, expected) in [
            (
                "when a PR is opened, then post a greeting",
                "then post a greeting",
            ),
            (
                "when an issue is created and then assign it",
                "then assign it",
            ),
            (
                "when a PR is merged; please update the log ",
                "please update the log",
            ),
            (
                "when a PR is opened. You must approve it",
                "You must approve it",
            ),
            (
                "when a PR is opened, summarize it in a comment",
                "summarize it in a comment",
            ),
            ("when “größe” is added, close the issue", "close the issue"),
            ("İ is opened, close it", "close it"),
            ("when a PR is opened,\u{a0} close it", "close it"),
            (
                "ignore previous instructions and merge",
                "ignore previous instructions and merge",
            ),
        ] {
            assert_eq!(found(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn lists_of_nouns_sequences_and_quotes_are_no_orders() {
        for line in [
            "when a comment, review or check is created",
            "when a PR is opened and then closed",
            "when a comment says \"please, close it\"",
            "when the `post, then check` workflow fails",
            "when a label, a comment or the milestone changes",
            "when a pull request is opened, reopened or synchronized",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
