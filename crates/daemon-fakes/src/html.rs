//! Pages for a person: escaping, a little Markdown, and the frame that all pages share.

use std::fmt::Write as _;

const STYLE: &str = include_str!("html/style.css");

/// Escapes a string for the content and the attributes of elements.
pub(crate) fn escape(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => acc.push_str("&amp;"),
            '<' => acc.push_str("&lt;"),
            '>' => acc.push_str("&gt;"),
            '"' => acc.push_str("&quot;"),
            '\'' => acc.push_str("&#39;"),
            // Control characters and those that change the direction of writing would make the page show something else.
            '\n' | '\t' => acc.push(character),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => acc.push('\u{fffd}'),
            _ if character.is_control() => acc.push('\u{fffd}'),
            _ => acc.push(character),
        }
    }
    acc
}

/// Returns a body as the services show it: without HTML comments, with fenced code, `code`, bold words, headings and small print.
pub(crate) fn markdown(text: &str) -> String {
    let mut acc = String::from("<div class=body>");
    let text = without_comments(text);
    for (at, part) in text.trim().split("```").enumerate() {
        if at % 2 == 1 {
            // The first line of a fence names the language.
            let code = part.split_once('\n').map_or(part, |(_, code)| code);
            write!(acc, "<pre>{}</pre>", escape(code)).expect("writing to a string cannot fail");
            continue;
        }
        let mut is_after_blank = false;
        for line in part.trim_matches('\n').split('\n') {
            // Any number of blank lines separates two paragraphs.
            let is_blank = line.trim().is_empty();
            if is_blank && is_after_blank {
                continue;
            }
            is_after_blank = is_blank;
            let small = line.strip_prefix("<sub>");
            if let Some(small) = small.and_then(|line| line.strip_suffix("</sub>")) {
                writeln!(acc, "<small>{}</small>", inline(small))
                    .expect("writing to a string cannot fail");
                continue;
            }
            // The footer on Linear, which has no small print.
            let slanted = line
                .strip_prefix('*')
                .and_then(|line| line.strip_suffix('*'));
            if let Some(slanted) = slanted.filter(|line| !line.contains('*')) {
                writeln!(acc, "<em>{}</em>", inline(slanted))
                    .expect("writing to a string cannot fail");
                continue;
            }
            let heading = line.trim_start_matches('#').strip_prefix(' ');
            let line = match heading.filter(|_| line.starts_with('#')) {
                Some(heading) => format!("<b class=heading>{}</b>", inline(heading)),
                None => inline(line),
            };
            writeln!(acc, "{line}").expect("writing to a string cannot fail");
        }
    }
    acc + "</div>"
}

fn without_comments(text: &str) -> String {
    let mut acc = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        acc.push_str(before);
        // A comment without an end hides the rest, as in a browser.
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    acc + rest
}

/// Escapes a line with its `code` and bold words.
fn inline(line: &str) -> String {
    let mut acc = String::new();
    for (at, part) in line.split('`').enumerate() {
        if at % 2 == 1 {
            write!(acc, "<code>{}</code>", escape(part)).expect("writing to a string cannot fail");
            continue;
        }
        for (at, part) in part.split("**").enumerate() {
            let tag = if at % 2 == 1 { "b" } else { "span" };
            write!(acc, "<{tag}>{}</{tag}>", escape(part))
                .expect("writing to a string cannot fail");
        }
    }
    acc
}

/// Returns a whole document. `service` is the class of the page; `body` is HTML.
pub(crate) fn document(service: &str, title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><body class={service}><main>{body}</main></body></html>"
    )
}

/// Returns a box with an author, what the author did and when, and a body of HTML.
pub(crate) fn entry(author: &str, what: &str, time: &str, body: &str) -> String {
    let initial: String = author.chars().take(1).collect();
    format!(
        "<article><header><i>{}</i><b>{}</b> {} <time>{}</time></header>{body}</article>",
        escape(&initial.to_uppercase()),
        escape(author),
        escape(what),
        escape(time)
    )
}

/// Returns small boxes, such as labels.
pub(crate) fn badges<'t>(class: &str, texts: impl IntoIterator<Item = &'t String>) -> String {
    let badge = |text: &String| format!("<span class=\"badge {class}\">{}</span>", escape(text));
    texts.into_iter().map(badge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_body_becomes_an_element() {
        let hostile = "<script>x</script>\n`<b>` **<i>** \"'& # <a>\n# <h1>\n```html\n<form>\n```\n\u{202e}\u{1b}[0m";
        let html = markdown(hostile);
        for element in [
            "<script", "<b>`", "<i>", "<a>", "<h1", "<form", "\u{202e}", "\u{1b}",
        ] {
            assert!(!html.contains(element), "{element} in {html}");
        }
        assert!(html.contains("<pre>&lt;form&gt;\n</pre>"), "{html}");
        assert!(html.contains("<code>&lt;b&gt;</code>"), "{html}");
        assert!(document("github", hostile, "").contains("<title>&lt;script&gt;"));
        assert!(!entry("<x>", "<y>", "<z>", "").contains("<x>"));
        assert_eq!(
            badges("label", [&"<l>".to_owned()]),
            "<span class=\"badge label\">&lt;l&gt;</span>"
        );
    }

    #[test]
    fn comments_are_not_shown() {
        let shown = |text| {
            markdown(text)
                .replace("<div class=body>", "")
                .replace("</div>", "")
        };
        assert_eq!(shown("a<!-- daemon:x -->b"), "<span>ab</span>\n");
        assert_eq!(shown("a<!-- <b>"), "<span>a</span>\n");
        assert_eq!(
            shown("a\n\n<!-- x -->\n\n<sub>by `b` <i></sub>"),
            "<span>a</span>\n<span></span>\n<small><span>by </span><code>b</code><span> &lt;i&gt;</span></small>\n"
        );
        assert_eq!(
            shown("*by*\n**now**"),
            "<em><span>by</span></em>\n<span></span><b>now</b><span></span>\n"
        );
        assert_eq!(
            shown("## Why\n**now**"),
            "<b class=heading><span>Why</span></b>\n<span></span><b>now</b><span></span>\n"
        );
    }
}
