//! Secrets in base64, of which lines may be broken.

use super::*;

#[test]
fn a_secret_is_taken_out_of_base64_at_every_alignment() {
    // `u:…`, `us:…` and `usr:…`: the characters that hold bits of a neighbour too are left over.
    check("dTpodW50ZXIyL2h1bnRlcjI=", "dTp<redacted>I=");
    check("dXM6aHVudGVyMi9odW50ZXIy", "dXM6<redacted>");
    check("dXNyOmh1bnRlcjIvaHVudGVyMg==", "dXNyOm<redacted>g==");
}

/// Breaks a string into lines of this many characters.
fn wrapped(text: &str, columns: usize, line_break: &str) -> String {
    let lines: Vec<&str> = (0..text.len().div_ceil(columns))
        .map(|n| &text[n * columns..text.len().min((n + 1) * columns)])
        .collect();
    lines.join(line_break)
}

/// Random characters, the same each time.
fn random(n: usize) -> String {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let character = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(STANDARD[(state >> 24 & 63) as usize])
    });
    character.take(n).collect()
}

#[test]
fn a_known_secret_is_taken_out_of_base64_whose_lines_were_broken() {
    let secret = random(90);
    let redactor = Redactor::of([secret.clone()]);
    for alphabet in [STANDARD, URL_SAFE] {
        for before in ["", ":", "u:", "user of some service:"] {
            let encoded = base64(&format!("{before}{secret}{before}"), alphabet);
            for columns in [7, 64, 76] {
                for line_break in [
                    "\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\n  ", "\\\\n", "%0A",
                ] {
                    let text = format!("see:\n{}\nend", wrapped(&encoded, columns, line_break));
                    let redacted = redactor.text(&text);
                    let context = format!("{text} redacted to {redacted}");
                    assert_eq!(redacted.matches(REDACTED).count(), 1, "{context}");
                    // What the secret's neighbours share characters with stays.
                    let rest = redacted.replace(REDACTED, "").replace(line_break, "");
                    let most = "see:\n\nend".len() + (2 * before.len() + 6) * 4 / 3;
                    assert!(rest.len() <= most, "{context}");
                    assert!(
                        redacted.starts_with("see:\n") && redacted.ends_with("\nend"),
                        "{context}"
                    );
                }
            }
        }
    }
}

#[test]
fn lines_that_are_no_secret_together_stay() {
    let redactor = Redactor::of(["hunter2/hunter2".to_owned()]);
    for text in ["hunter2/\n", "a\nhunter2\n/hunter\n", "hunter2/hunter\n- 2"] {
        assert_eq!(redactor.text(text), text);
    }
    // What follows a secret keeps its own line.
    assert_eq!(
        redactor.text("user\nhunter2/hunter2\r\n  next"),
        "user\n<redacted>\r\n  next"
    );
}

#[test]
fn a_known_secret_in_broken_base64_is_taken_out_of_a_text_in_pieces() {
    let secret = random(90);
    let text = wrapped(&base64(&secret, STANDARD), 76, "\n");
    let redactor = Redactor::of([secret]);
    for at in 0..text.len() {
        let mut stream = redactor.stream();
        let redacted = [
            stream.push(&text[..at]),
            stream.push(&text[at..]),
            stream.finish(),
        ]
        .concat();
        assert_eq!(redacted, REDACTED, "{at}");
        let mut texts = redactor.sequence();
        let redacted = [texts.push(&text[..at]), texts.push(&text[at..])].concat();
        let shown = redacted.replace(REDACTED, "");
        assert!(
            redacted.contains(REDACTED) && shown.len() < 8,
            "{at}: {redacted}"
        );
    }
}

/// A private key that no configuration names.
fn private_key(n_lines: usize) -> String {
    let body = wrapped(&random(n_lines * 64), 64, "\n");
    format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")
}

#[test]
fn no_line_of_an_unknown_private_key_in_base64_is_returned() {
    let key = private_key(25);
    for before in ["", "x", "xy", "[[\"key\":\""] {
        for columns in [20, 64, 65, 76] {
            for indentation in ["", "    ", "\t"] {
                let encoded = base64(&format!("{before}{key}"), STANDARD);
                let lines = wrapped(&encoded, columns, "\n");
                let mut texts = Redactor::default().sequence();
                assert_eq!(texts.push("the key:"), "the key:");
                let redacted: Vec<String> = lines
                    .lines()
                    .map(|line| texts.push(&format!("{indentation}{line}")))
                    .collect();
                // The head itself is no secret, nor is the end, whose characters a neighbour shares.
                let secret = 4..redacted.len() - 3;
                for (n, redacted) in redacted
                    .iter()
                    .enumerate()
                    .filter(|(n, _)| secret.contains(n))
                {
                    assert_eq!(
                        redacted.trim(),
                        REDACTED,
                        "{columns} columns, line {n}, after {before:?}"
                    );
                }
                for after in ["after the key", "one", "two"] {
                    assert_eq!(texts.push(after), after);
                }
            }
        }
    }
}

#[test]
fn a_private_key_in_base64_without_an_end_ends_with_its_lines() {
    let key = private_key(25);
    let encoded = base64(&key, STANDARD);
    let mut texts = Redactor::default().sequence();
    for line in wrapped(&encoded, 76, "\n").lines().take(10) {
        assert_eq!(texts.push(line), REDACTED);
    }
    assert_eq!(
        texts.push("INFO it was cut"),
        format!("{REDACTED} it was cut")
    );
    assert_eq!(texts.push("after"), "after");
}

fn undeclared_tokens() -> [String; 5] {
    [
        format!("ghp_{}", "a1B2c3D4e5".repeat(4)),
        "sk-a1B2c3D4e5f6G7h8I9j0K1".to_owned(),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "xoxb-123456-abc?DEF".replace('?', "-"),
        "-----BEGIN PRIVATE KEY-----\nbm8ga2V5IGF0IGFsbA\n-----END PRIVATE KEY-----".to_owned(),
    ]
}

#[test]
fn what_looks_like_a_token_is_taken_out_of_base64_at_every_alignment() {
    for token in undeclared_tokens() {
        for before in ["", ":", "u:", "é~?>", "{\"key\":\""] {
            for (alphabet, after) in [(STANDARD, ""), (URL_SAFE, "\"}"), (STANDARD, "\n>>>")] {
                let written = base64(&format!("{before}{token}{after}"), alphabet);
                let redacted = Redactor::default().text(&written).into_owned();
                let n_left = written.len() - (token.len() * 8 / 6);
                assert!(
                    redacted.contains(REDACTED),
                    "{token} as {written}: {redacted}"
                );
                assert!(
                    redacted.len() <= n_left + REDACTED.len(),
                    "{token} as {written}: {redacted}"
                );
                // Where lines of it were broken, also in JSON, and behind an odd character.
                let lines: Vec<&str> = (0..written.len().div_ceil(7))
                    .map(|n| &written[n * 7..written.len().min(n * 7 + 7)])
                    .collect();
                for line_break in ["\n", "\r\n", "\n    ", "\\n", "\\r\\n"] {
                    let broken = format!("see A{}.", lines.join(line_break));
                    let redacted = Redactor::default().text(&broken).into_owned();
                    let words: Vec<&str> = redacted.split(REDACTED).collect();
                    assert_eq!(words.len(), 2, "{token} as {broken}: {redacted}");
                    assert!(words[0].len() < 6 + (before.len() + 3) * 4, "{redacted}");
                }
            }
        }
    }
}

#[test]
fn base64_of_no_token_stays() {
    for text in [
        "a task-list of risk-assessments".repeat(3),
        base64(&"a task-list of risk-assessments".repeat(3), STANDARD),
        base64("use ghp_<your token> or sk-your-own", STANDARD),
        "YWJj\nZGVm".repeat(40),
    ] {
        assert_eq!(Redactor::default().text(&text), text);
    }
}

#[test]
fn a_token_in_base64_across_an_edge_is_taken_out_of_the_rest() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let written = base64(&format!("key {token}."), STANDARD);
    for at in 0..50 {
        let mut texts = Redactor::default().sequence();
        let redacted = [texts.push(&written[..at]), texts.push(&written[at..])].concat();
        assert!(redacted.contains(REDACTED), "{at}: {redacted}");
        assert!(
            !redacted.contains(&written[at.max(8)..56]),
            "{at}: {redacted}"
        );
    }
}
