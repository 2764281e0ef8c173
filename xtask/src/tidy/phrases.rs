//! English in the reader of conditions: it is data, so that a wording is added as a row.

use super::tree::{RepositoryFiles, TidyFinding};

/// The folder whose code reads conditions and says them.
const READER: &str = "crates/daemon-watch/src/";

/// The file with notes for people.
const NOTES: &str = "crates/daemon-watch/src/meaning/notes.rs";

/// What a string behind it is for: a message of the program or a reason for a lint.
const MESSAGES: [&str; 7] = [
    "expect(",
    "panic!(",
    "reason = ",
    "assert",
    "write_str(",
    "write!(",
    "#[error(",
];

/// Checks that no phrase of English is in the code that reads conditions.
pub(crate) fn in_code(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    let is_read = |path: &str| {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        path.starts_with(READER) && !is_test && path != NOTES
    };
    let mut acc = Vec::new();
    for (path, text) in tree.sources().filter(|(path, _)| is_read(path)) {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
        for (at, line) in code.lines().enumerate() {
            let is_message = MESSAGES.iter().any(|message| line.contains(message));
            if is_message || line.trim_start().starts_with("//") {
                continue;
            }
            for phrase in line
                .split('"')
                .skip(1)
                .step_by(2)
                .filter(|text| is_phrase(text))
            {
                let message =
                    format!("`{phrase}`: write it as a row of `lexicon/` or a rule of `grammar/`");
                acc.push(TidyFinding::new(path, at + 1, message));
            }
        }
    }
    acc
}

/// Whether a string consists of several words in lower case; words and values that are filled in count.
fn is_phrase(text: &str) -> bool {
    let is_filled = |word: &str| word.starts_with('{') && word.ends_with('}');
    let is_plain = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    let words: Vec<&str> = text.split(' ').collect();
    let n_plain = words.iter().filter(|word| is_plain(word)).count();
    let n_filled = words.iter().filter(|word| is_filled(word)).count();
    // One word with one value is no phrase: "{stem} not".
    n_plain > 0 && n_plain + n_filled == words.len() && (n_plain > 1 || n_filled > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_in_the_code_of_the_reader_is_found_and_no_message_or_test() {
        let text = concat!(
            "fn a() {\n    let b = [\"x\", \"no longer\", \"{n} is {v}\"];\n",
            "    // \"not a phrase\"\n    b.first().expect(\"it has one\");\n}\n",
            "#[cfg(test)]\nmod tests {\n    const A: &str = \"when it is\";\n}\n"
        );
        let tree = RepositoryFiles::from([
            ("crates/daemon-watch/src/reader/a.rs", text),
            ("crates/daemon-watch/src/reader/tests.rs", text),
            ("crates/daemon-watch/src/meaning/notes.rs", text),
            ("crates/daemon-watch/src/phrasing/said.rs", text),
            ("crates/daemon-event/src/event.rs", text),
        ]);
        let found = in_code(&tree);
        let places: Vec<(&str, usize)> = found
            .iter()
            .map(|finding| (finding.path.as_str(), finding.line))
            .collect();
        let said = ("crates/daemon-watch/src/phrasing/said.rs", 2);
        let reader = ("crates/daemon-watch/src/reader/a.rs", 2);
        let mut expected = [said, said, reader, reader];
        expected.sort_unstable();
        let mut places = places;
        places.sort_unstable();
        assert_eq!(places, expected);
    }
}
