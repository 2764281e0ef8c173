//! Parsing a daemon file, with spans.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use gray_matter::Matter;
use gray_matter::engine::YAML;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::fixtures;
use crate::kit::{Contender, measure as measure_all};
use crate::report::Row;

/// The six fields, read by YAML libraries.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only the cost of reading counts")]
struct Plain {
    id: String,
    purpose: String,
    watch: Option<Vec<String>>,
    routines: Vec<String>,
    deny: Option<Vec<String>>,
    schedule: Option<String>,
}

/// The six fields with the span of each value, which diagnostics need.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only the cost of reading counts")]
struct WithSpans {
    id: Spanned<String>,
    purpose: Spanned<String>,
    watch: Option<Spanned<Vec<Spanned<String>>>>,
    routines: Spanned<Vec<Spanned<String>>>,
    deny: Option<Spanned<Vec<Spanned<String>>>>,
    schedule: Option<Spanned<String>>,
}

pub(super) fn measure() -> Result<Row> {
    let files = fixtures::daemon_files()?;
    let texts: Vec<&str> = files
        .iter()
        .map(|file| std::str::from_utf8(file))
        .collect::<Result<_, _>>()?;
    let yamls: Vec<&str> = texts
        .iter()
        .map(|text| front_matter(text))
        .collect::<Result<_>>()?;
    let matter = Matter::<YAML>::new();
    check_all_read(&files, &texts, &yamls, &matter)?;

    let n_files = files.len();
    let samples = measure_all(vec![
        Contender::new("daemon-spec", n_files, || {
            for file in &files {
                // The parser owns its source, so the copy is a part of our time.
                black_box(daemon_spec::parse(black_box(file).clone()));
            }
        }),
        Contender::new("gray_matter", n_files, || {
            for text in &texts {
                black_box(matter.parse::<Plain>(black_box(text)).is_ok());
            }
        }),
        Contender::new("serde_yaml, front matter only", n_files, || {
            for yaml in &yamls {
                black_box(serde_yaml::from_str::<Plain>(black_box(yaml)).is_ok());
            }
        }),
        Contender::new("serde-saphyr `Spanned`, front matter only", n_files, || {
            for yaml in &yamls {
                black_box(serde_saphyr::from_str::<WithSpans>(black_box(yaml)).is_ok());
            }
        }),
        Contender::new("UTF-8 validation", n_files, || {
            for file in &files {
                black_box(std::str::from_utf8(black_box(file)).is_ok());
            }
        }),
    ]);
    let [ours, matter, yaml, saphyr, utf8] = &samples[..] else {
        unreachable!("five contenders went in")
    };
    let mean = files.iter().map(Vec::len).sum::<usize>() / n_files;
    Ok(Row::new("parse", "read one daemon file with spans of every value", ours)
        .compared_with(ours, matter)
        .compared_with(ours, yaml)
        .compared_with(ours, saphyr)
        .limited_by(ours, utf8)
        .must_beat(ours, saphyr, 0.9)
        .note(format!(
            "{n_files} files of fixtures/daemons, {mean} bytes on average. Ours reads the whole file, keeps spans and \
             looks for mistakes; the two YAML libraries get the text between the fences only."
        )))
}

// A peer that fails early would look fast.
fn check_all_read(
    files: &[Vec<u8>],
    texts: &[&str],
    yamls: &[&str],
    matter: &Matter<YAML>,
) -> Result<()> {
    for ((file, text), yaml) in files.iter().zip(texts).zip(yamls) {
        let parsed = daemon_spec::parse(file.clone());
        let id = parsed
            .file
            .id()
            .value()
            .context("a typical file has an id")?;
        let name = &id.value;
        ensure!(
            parsed.file.completeness() == daemon_spec::Completeness::Whole,
            "ours did not read all of `{name}`"
        );
        ensure!(
            matter.parse::<Plain>(text).is_ok(),
            "gray_matter fails on `{name}`"
        );
        ensure!(
            serde_yaml::from_str::<Plain>(yaml).is_ok(),
            "serde_yaml fails on `{name}`"
        );
        ensure!(
            serde_saphyr::from_str::<WithSpans>(yaml).is_ok(),
            "serde-saphyr fails on `{name}`"
        );
    }
    Ok(())
}

fn front_matter(text: &str) -> Result<&str> {
    let (_, rest) = text
        .split_once("---")
        .context("a typical file begins with a fence")?;
    let (yaml, _) = rest
        .split_once("\n---")
        .context("a typical file closes its front matter")?;
    Ok(yaml)
}
