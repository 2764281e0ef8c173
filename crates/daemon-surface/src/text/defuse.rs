//! Makes plain text of what would notify people or hide something.

use daemon_engine::proposal::mentions;
use daemon_validate::without_unseen;

/// A character that is not shown and ends a mention.
const BREAK: char = '\u{200b}';

/// Returns a string without mentions that are not allowed, without comments of HTML, which could hide something or forge a
/// marker, and without control and hidden characters.
pub(crate) fn defused(text: &str, surface: &str, may_mention: &dyn Fn(&str) -> bool) -> String {
    let text = &without_unseen(text);
    match surface {
        "slack" => plain_names(&escaped(text, may_mention), may_mention),
        "linear" => {
            // Linear turns the address of a profile into a mention.
            let text = text.replace("/profiles/", &format!("/profiles{BREAK}/"));
            // Not as an entity, because not every view of a comment is Markdown.
            let text = text.replace("<!--", &format!("<{BREAK}!--"));
            plain_names(&text, may_mention)
        }
        _ => plain_names(&text.replace("<!--", "&lt;!--"), may_mention),
    }
}

fn plain_names(text: &str, may_mention: &dyn Fn(&str) -> bool) -> String {
    let mut acc = String::with_capacity(text.len());
    let mut end = 0;
    for range in mentions(text) {
        let name = text[range.clone()].trim_matches(['<', '>', '@']);
        if may_mention(name) {
            continue;
        }
        let found = &text[range.clone()];
        acc.push_str(&text[end..range.start]);
        acc.push_str(&found.replacen('@', &format!("@{BREAK}"), 1));
        end = range.end;
    }
    acc.push_str(&text[end..]);
    acc
}

/// Escapes the control sequences of Slack that notify: `<@U024BE7LH>`, `<!channel>`, `<!subteam^S1>`.
fn escaped(text: &str, may_mention: &dyn Fn(&str) -> bool) -> String {
    let mut acc = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        acc.push_str(before);
        let end = from.find('>').map_or(from.len(), |end| end + 1);
        let name = from[1..end].trim_end_matches('>');
        let name = name.strip_prefix(['@', '!']);
        match name {
            Some(name) if !may_mention(name.split('|').next().unwrap_or_default()) => {
                acc.push_str("&lt;");
            }
            _ => acc.push('<'),
        }
        rest = &from[1..];
    }
    acc + rest
}

#[cfg(test)]
mod tests {
    use super::defused;

    #[test]
    fn only_configured_names_are_mentioned() {
        let may = |name: &str| matches!(name, "octocat" | "U1" | "subteam^S9");
        for (surface, text, expected) in [
            ("github", "@octocat @other", "@octocat @\u{200b}other"),
            ("github", "`@other` a@b.c", "`@other` a@b.c"),
            ("github", "@o/team", "@\u{200b}o/team"),
            (
                "github",
                "a <!-- daemon:x act:y out:z -->",
                "a &lt;!-- daemon:x act:y out:z -->",
            ),
            ("github", "<!-", "<!-"),
            (
                "slack",
                "<@U1> <@U2> <!here> <https://a|b>",
                "<@U1> &lt;@\u{200b}U2> &lt;!here> <https://a|b>",
            ),
            (
                "slack",
                "`<!channel>` @here",
                "`&lt;!channel>` @\u{200b}here",
            ),
            ("slack", "<!subteam^S9|x> <!", "<!subteam^S9|x> &lt;!"),
            (
                "github",
                "a\u{1b}[31mb\rc\u{202e}d\u{200d}e\0 @\u{200b}other",
                "a[31mbcd\u{200d}e @\u{200b}other",
            ),
            ("slack", "<\u{200b}!here>", "&lt;!here>"),
            ("linear", "a <!-- b -->", "a <\u{200b}!-- b -->"),
            (
                "linear",
                "https://linear.app/w/profiles/ann @ann",
                "https://linear.app/w/profiles\u{200b}/ann @\u{200b}ann",
            ),
        ] {
            assert_eq!(defused(text, surface, &may), expected, "{surface}: {text}");
        }
    }
}
