//! How long a function may be.

use super::rust::{self, RustSource};
use super::survey::File;
use super::tree::TidyFinding;

const MAX_LINES: usize = 60;

/// Returns the functions of a file that are too long, tests included.
pub(crate) fn too_long(file: &File<'_>) -> Vec<TidyFinding> {
    let long = lengths(&file.source)
        .into_iter()
        .filter(|function| function.n_lines > MAX_LINES);
    long.map(
        |Function {
             line,
             name,
             n_lines,
         }| {
            let message =
                format!("`{name}` has {n_lines} lines, the limit is {MAX_LINES}; split it by idea");
            TidyFinding::new(file.path, line, message)
        },
    )
    .collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    line: usize,
    name: String,
    /// From the line of `fn` to the line of the closing brace.
    n_lines: usize,
}

fn lengths(source: &RustSource) -> Vec<Function> {
    let code = &source.code;
    let is_start = |at: &usize| *at == 0 || !rust::is_word(code.as_bytes()[at - 1]);
    let starts = code.match_indices("fn ").map(|(at, _)| at).filter(is_start);
    starts
        .filter_map(|at| {
            let name: String = code[at + 3..]
                .chars()
                .take_while(|&c| c.is_alphanumeric() || c == '_')
                .collect();
            let n_bytes = body_end(&code[at..]).filter(|_| !name.is_empty())?;
            Some(Function {
                line: source.line_of(at),
                name,
                n_lines: code[at..at + n_bytes].matches('\n').count() + 1,
            })
        })
        .collect()
}

/// Returns the offset of the brace that closes the body, or nothing for a declaration without one.
fn body_end(code: &str) -> Option<usize> {
    // A semicolon in `[u8; 4]` or in the parameters does not end the declaration.
    let (mut n_groups, mut n_braces) = (0_usize, 0_usize);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => n_groups += 1,
            ')' | ']' => n_groups = n_groups.saturating_sub(1),
            ';' if n_groups == 0 && n_braces == 0 => return None,
            '{' => n_braces += 1,
            '}' if n_braces == 1 => return Some(at),
            '}' => n_braces = n_braces.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String, usize)> {
        let functions = lengths(&RustSource::read(text)).into_iter();
        functions.map(|it| (it.line, it.name, it.n_lines)).collect()
    }

    #[test]
    fn a_function_of_61_lines_fails_and_one_of_60_does_not() {
        let [fits, over] = [58, 59]
            .map(|n_lines| format!("// a\nfn b() {{\n{}}}\n", "    c();\n".repeat(n_lines)));
        let read = |text: &str| {
            too_long(&File {
                path: "a/tests/it/main.rs",
                package: "a",
                source: RustSource::read(text),
            })
        };
        assert_eq!(read(&fits), []);
        assert_eq!(
            read(&over),
            [TidyFinding::new(
                "a/tests/it/main.rs",
                2,
                "`b` has 61 lines, the limit is 60; split it by idea"
            )]
        );
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_count() {
        let text = "fn a() {\n    b(\"}\", '}'); // }\n    /* } */\n}\n";
        assert_eq!(found(text), [(1, "a".to_owned(), 4)]);
    }

    #[test]
    fn inner_functions_and_declarations_are_read() {
        let text = "trait A {\n    fn b(c: [u8; 2]) -> [u8; 2];\n    fn d() {\n        async fn e() {\n        }\n    }\n}\ntype F = fn (u8);\n";
        assert_eq!(
            found(text),
            [(3, "d".to_owned(), 4), (4, "e".to_owned(), 2)]
        );
    }

    #[test]
    fn a_signature_of_several_lines_counts() {
        let text = "pub(crate) async fn a<const N: usize>(\n    b: u8,\n) -> [u8; N]\nwhere\n    C: D,\n{\n}\n";
        assert_eq!(found(text), [(1, "a".to_owned(), 7)]);
    }
}
