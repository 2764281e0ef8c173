//! Redaction of secrets in the output of a run.

use std::hint::black_box;

use anyhow::{Result, ensure};
use daemon_provider::redact::{REDACTED, Redactor};

use crate::kit::{Contender, Sample, measure as measure_all};
use crate::report::Row;

/// The bytes of each kind that one pass redacts.
const SIZE: usize = 1 << 20;
/// The least bytes per second.
const LEAST: f64 = 100e6;

pub(super) fn measure() -> Result<Row> {
    let secrets = secrets();
    let redactor = Redactor::of(secrets.clone());
    check_both_ways(&redactor, &secrets)?;
    let (text, binary) = (text_lines(), binary_lines());
    let samples = measure_all(vec![
        redacting("text", &redactor, &text),
        redacting("binary", &redactor, &binary),
        Contender::new("copying the text", size(&text), || copy(&text)),
    ]);
    let [of_text, of_binary, copied] = &samples[..] else {
        unreachable!("three contenders went in")
    };
    Ok(Row::new(
        "redact",
        "take the secrets out of one byte of a run's output, line by line; here of text",
        of_text,
    )
    .compared_with(of_text, of_binary)
    .limited_by(of_text, copied)
    .must("≥ 100 MB/s of text", rate(of_text), is_met(of_text))
    .must("≥ 100 MB/s of binary", rate(of_binary), is_met(of_binary))
    .note(format!(
        "{} secrets, a private key among them; {} lines of logs, sources and JSON; {} lines of random bytes as a program's output \
         is kept, with `\\xNN` for what is not UTF-8. Bytes are those of the line as it is stored.",
        secrets.len(),
        text.len(),
        binary.len()
    )))
}

fn redacting<'a>(name: &'static str, redactor: &'a Redactor, lines: &'a [String]) -> Contender<'a> {
    let mut sequence = redactor.sequence();
    Contender::new(name, size(lines), move || {
        for line in lines {
            black_box(sequence.push(black_box(line)));
        }
    })
}

fn copy(lines: &[String]) {
    for line in lines {
        black_box(black_box(line).clone());
    }
}

fn size(lines: &[String]) -> usize {
    lines.iter().map(String::len).sum()
}

fn rate(sample: &Sample) -> String {
    format!("{:.0} MB/s", 1e3 / sample.median)
}

fn is_met(sample: &Sample) -> bool {
    1e9 / sample.median >= LEAST
}

// A redactor that finds nothing would look fast.
fn check_both_ways(redactor: &Redactor, secrets: &[String]) -> Result<()> {
    for secret in secrets.iter().filter(|secret| !secret.contains('\n')) {
        let mut sequence = redactor.sequence();
        let (first, last) = secret.split_at(secret.len() / 2);
        let told = [sequence.push(first), sequence.push(last)].concat();
        ensure!(told == REDACTED.repeat(2), "a secret came out as `{told}`");
    }
    Ok(())
}

/// Returns random bytes, the same in each session.
fn random_bytes(n: usize) -> impl Iterator<Item = u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(n)
}

/// Returns the secrets of a host with a few services: tokens, a pass phrase and a private key.
fn secrets() -> Vec<String> {
    let digits: String = random_bytes(1300)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let (tokens, key) = digits.split_at(20 * 40);
    let mut acc: Vec<String> = (0..20)
        .map(|n| tokens[n * 40..(n + 1) * 40].to_owned())
        .collect();
    acc.push("correct horse \"battery\" staple".to_owned());
    let lines: Vec<&str> = (0..key.len() / 64)
        .map(|n| &key[n * 64..(n + 1) * 64])
        .collect();
    acc.push(format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
        lines.join("\n")
    ));
    acc
}

fn text_lines() -> Vec<String> {
    let lines = [
        "2026-01-02T03:04:05.678Z  INFO started run em-5-20260102-030405-0a1b2c of `lint` (attempt 1, 35 files)",
        "   Compiling serde_json v1.0.145",
        "test parser::reads_every_line ... ok",
        "        let covered = self.covered(text).into_iter().filter(|place| place.end > n_before);",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I read `src/main.rs`.\nIt says \"no\", 100% of it."}]}}"#,
        "https://example.org/docs?query=a%20b&page=2  (200, 12 ms)",
    ];
    let mut n_left = SIZE;
    let lines = lines.into_iter().cycle().take_while(|line| {
        let is_needed = n_left > 0;
        n_left = n_left.saturating_sub(line.len());
        is_needed
    });
    lines.map(str::to_owned).collect()
}

fn binary_lines() -> Vec<String> {
    let bytes: Vec<u8> = random_bytes(SIZE).collect();
    bytes.split(|byte| *byte == b'\n').map(kept).collect()
}

/// Returns bytes in the form in which output of a program is stored.
fn kept(line: &[u8]) -> String {
    let mut acc = String::new();
    for chunk in line.utf8_chunks() {
        acc.push_str(chunk.valid());
        let escaped = chunk.invalid().iter().copied();
        acc.extend(escaped.flat_map(std::ascii::escape_default).map(char::from));
    }
    acc
}
