//! Frames: rows of `grammar/frames.tsv` that fill the templates of `grammar/grammar.txt`.

use rustc_hash::FxHashMap;

/// Rules with places for the cells of a frame.
struct Template<'t> {
    parameters: Vec<&'t str>,
    lines: Vec<&'t str>,
}

/// The cell of a place that a frame does not have: rules that need it are left out.
const NOTHING: &str = "-";

/// Returns the lines of a grammar, with the rules that each frame makes of its template.
///
/// # Panics
/// Panics if a frame does not fit its template; the files are a part of the program.
pub(super) fn expanded(grammar: &str, frames: &'static [&'static str]) -> Vec<String> {
    let mut templates: FxHashMap<&str, Template<'_>> = FxHashMap::default();
    let mut found = Vec::new();
    let mut open: Option<&str> = None;
    for line in grammar.lines().filter(|line| !line.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("template ") {
            let (name, parameters) = rest.split_once(':').expect("a template has a colon");
            open = Some(name);
            let parameters = parameters.split_whitespace().collect();
            let lines = Vec::new();
            templates.insert(name, Template { parameters, lines });
        } else if line.trim().is_empty() {
            open = None;
        } else if let Some(template) = open.and_then(|name| templates.get_mut(name)) {
            template.lines.push(line.trim());
        } else {
            found.push(line.to_owned());
        }
    }
    for row in rows(frames) {
        let template = templates
            .get(row[0])
            .unwrap_or_else(|| panic!("no template: {row:?}"));
        // The last cell is the example.
        let cells = &row[1..row.len() - 1];
        assert_eq!(template.parameters.len(), cells.len(), "{row:?}");
        for line in &template.lines {
            found.extend(filled(line, &template.parameters, cells));
        }
    }
    found
}

/// Returns the rows of the frames: the template's name, its cells, and an example.
pub(super) fn rows(frames: &'static [&'static str]) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = frames
        .iter()
        .flat_map(|file| file.lines())
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| row.split('\t').collect())
}

fn filled(line: &str, parameters: &[&str], cells: &[&str]) -> Option<String> {
    let mut found = line.to_owned();
    for (parameter, cell) in parameters.iter().zip(cells) {
        let place = format!("{{{parameter}}}");
        if found.contains(&place) {
            if *cell == NOTHING {
                return None;
            }
            found = found.replace(&place, cell);
        }
    }
    Some(found)
}
