//! Makes plain text of what would notify people or hide something.

use daemon_engine::proposal::{Mention, mentions};
use daemon_validate::without_unseen;

/// A character that is not shown and ends a mention.
const BREAK: char = '\u{200b}';
/// The same in messages of commits, from which characters such as [`BREAK`] are removed.
const BREAK_IN_MESSAGE: char = '\u{200c}';

/// Returns a string without mentions that are not allowed, without comments, declarations and instructions of HTML, which could hide
/// something or forge a marker, and without control and hidden characters.
pub(crate) fn defused(text: &str, surface: &str, may_mention: &dyn Fn(&str) -> bool) -> String {
    let text = &without_unseen(text);
    match surface {
        "slack" => plain_names(&escaped(text, may_mention), BREAK, may_mention),
        "linear" => {
            // Not as an entity, because not every view of a comment is Markdown.
            let text = broken_profiles(text).replace("<!", &format!("<{BREAK}!"));
            let text = text.replace("<?", &format!("<{BREAK}?"));
            plain_names(&text, BREAK, may_mention)
        }
        _ => {
            let text = text.replace("<!", "&lt;!").replace("<?", "&lt;?");
            plain_names(&text, BREAK, may_mention)
        }
    }
}

/// Returns the message of a commit without mentions that are not allowed and marks that skip checks, which services read in messages.
pub(crate) fn message(text: &str, may_mention: &dyn Fn(&str) -> bool) -> String {
    let text = without_unseen(text);
    let mut acc = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, from)) = rest.split_once('[') {
        let (inside, _) = from.split_once(']').unwrap_or_default();
        let words = inside.to_ascii_lowercase();
        let skips = words.contains("skip") || words.contains("no ci");
        acc.extend([before, "["]);
        if skips {
            acc.push(BREAK_IN_MESSAGE);
        }
        rest = from;
    }
    plain_names(&(acc + rest), BREAK_IN_MESSAGE, may_mention)
}

/// Breaks the addresses of profiles, which Linear turns into mentions.
fn broken_profiles(text: &str) -> String {
    let is_profiles = |part: &&str| decoded(part).eq_ignore_ascii_case("profiles");
    let parts: Vec<&str> = text.split('/').collect();
    let mut acc = String::with_capacity(text.len());
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            acc.push('/');
        }
        acc.push_str(part);
        let is_between = number > 0 && number + 1 < parts.len();
        if is_between && is_profiles(part) {
            acc.push(BREAK);
        }
    }
    acc
}

/// Decodes the percent-encoded ASCII characters of a part of an address.
fn decoded(part: &str) -> String {
    let mut acc = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, from)) = rest.split_once('%') {
        acc.push_str(before);
        let code = from
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                acc.push(char::from(code));
                rest = &from[2..];
            }
            None => {
                acc.push('%');
                rest = from;
            }
        }
    }
    acc + rest
}

fn plain_names(text: &str, separator: char, may_mention: &dyn Fn(&str) -> bool) -> String {
    let mut acc = String::with_capacity(text.len());
    let mut end = 0;
    for Mention { range, sign_end } in mentions(text) {
        let name = text[sign_end..range.end].trim_end_matches('>');
        // Slack takes what follows the bar for the name that is shown.
        if may_mention(name.split('|').next().unwrap_or_default()) {
            continue;
        }
        acc.push_str(&text[end..sign_end]);
        acc.push(separator);
        end = sign_end;
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
    use super::{defused, message};

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
            ("github", "<!- <? <!DOCTYPE", "&lt;!- &lt;? &lt;!DOCTYPE"),
            ("github", "&#64;other", "&#64;\u{200b}other"),
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
            (
                "linear",
                "https://linear.app/w/Profiles/a /%70rofiles/b /w/profiles",
                "https://linear.app/w/Profiles\u{200b}/a /%70rofiles\u{200b}/b /w/profiles",
            ),
        ] {
            assert_eq!(defused(text, surface, &may), expected, "{surface}: {text}");
        }
    }

    #[test]
    fn a_message_mentions_only_configured_names_and_skips_no_checks() {
        let may = |name: &str| name == "octocat";
        for (text, expected) in [
            ("for @octocat, @other", "for @octocat, @\u{200c}other"),
            (
                "a [Skip CI] b [ci skip]",
                "a [\u{200c}Skip CI] b [\u{200c}ci skip]",
            ),
            ("[no ci] list[0] [x", "[\u{200c}no ci] list[0] [x"),
        ] {
            assert_eq!(message(text, &may), expected);
        }
    }
}
