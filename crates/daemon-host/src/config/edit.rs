//! Edits of the configuration file that keep everything else of it, comments included.

use daemon_records::error::{OpError, OpErrorKind};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// A value of a key; none removes the key.
pub(crate) type KeyValue<'k> = (&'k str, Option<Value>);

/// Sets keys of the table `[section.name]`, which is made if it does not exist. Its other keys stay.
///
/// # Errors
/// If the text is no TOML, or has something else in the place of the table.
pub(crate) fn set_table(
    text: &str,
    (section, name): (&str, &str),
    values: Vec<KeyValue<'_>>,
) -> Result<String, OpError> {
    let mut document = read(text)?;
    let parent = table_in(document.as_table_mut(), section, is_parent)?;
    let table = table_in(parent, name, |_| {})?;
    for (key, value) in values {
        set(table, key, value);
    }
    Ok(document.to_string())
}

/// Removes the table `[section.name]` with all of its keys; returns `None` if the file has no such table.
///
/// # Errors
/// If the text is no TOML.
pub(crate) fn remove_table(
    text: &str,
    (section, name): (&str, &str),
) -> Result<Option<String>, OpError> {
    let mut document = read(text)?;
    let parent = document.get_mut(section).and_then(Item::as_table_like_mut);
    let removed = parent.and_then(|parent| parent.remove(name));
    Ok(removed.map(|_| document.to_string()))
}

/// Sets one key of the table `[section]`.
///
/// # Errors
/// If the text is no TOML, or has something else in the place of the table.
pub(crate) fn set_key(
    text: &str,
    section: &str,
    key: &str,
    value: &str,
) -> Result<String, OpError> {
    let mut document = read(text)?;
    let table = table_in(document.as_table_mut(), section, |_| {})?;
    set(table, key, Some(value.into()));
    Ok(document.to_string())
}

/// Converts a list; an empty one removes its key.
pub(crate) fn list(texts: &[String]) -> Option<Value> {
    let list: Array = texts.iter().map(String::as_str).collect();
    (!list.is_empty()).then(|| list.into())
}

/// Converts pairs to a table in one line.
pub(crate) fn pairs<'p>(
    pairs: impl IntoIterator<Item = (&'p String, &'p String)>,
) -> Option<Value> {
    let table: InlineTable = pairs.into_iter().collect();
    (!table.is_empty()).then(|| table.into())
}

fn read(text: &str) -> Result<DocumentMut, OpError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let message = format!("config.toml cannot be edited: {}", error.message());
        OpError::new(OpErrorKind::Config, "config-invalid", message)
    })
}

fn is_parent(table: &mut Table) {
    // Its header is not written, as it has no keys of its own.
    table.set_implicit(true);
}

fn table_in<'t>(
    parent: &'t mut dyn TableLike,
    key: &str,
    made: fn(&mut Table),
) -> Result<&'t mut dyn TableLike, OpError> {
    if parent.get(key).is_none() {
        let mut table = Table::new();
        // At the end of the file, not behind a section that happens to be read before.
        table.set_position(Some(isize::MAX));
        made(&mut table);
        parent.insert(key, Item::Table(table));
    }
    let found = parent.get_mut(key).and_then(Item::as_table_like_mut);
    found.ok_or_else(|| {
        let message = format!("config.toml cannot be edited: `{key}` is no table");
        OpError::new(OpErrorKind::Config, "config-invalid", message)
    })
}

fn set(table: &mut dyn TableLike, key: &str, value: Option<Value>) {
    match (value, table.get_mut(key).and_then(Item::as_value_mut)) {
        (None, _) => drop(table.remove(key)),
        (Some(mut value), Some(old)) => {
            // A comment at the end of the line belongs to the old value.
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        (Some(value), None) => drop(table.insert(key, Item::Value(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# The host of the team.\n[host]\nhold = true # until May\n\n# The small model.\n[provider.small]\n\
        kind = \"openai\" # ours\nmodel = \"m1\"\nmax_tokens = 500\n\n[provider]\ndefault = \"small\"\n";

    #[test]
    fn keys_are_set_and_removed_and_everything_else_stays() {
        let values = vec![
            ("kind", Some("ollama".into())),
            ("model", None),
            ("args", list(&["-v".to_owned(), "\"x".to_owned()])),
        ];
        let edited = set_table(TEXT, ("provider", "small"), values).unwrap();
        let expected = TEXT.replace("\"openai\"", "\"ollama\"").replace(
            "model = \"m1\"\nmax_tokens = 500\n",
            "max_tokens = 500\nargs = [\"-v\", '\"x']\n",
        );
        assert_eq!(edited, expected);
        let edited = set_key(&edited, "provider", "default", "large").unwrap();
        assert_eq!(
            edited,
            expected.replace("default = \"small\"", "default = \"large\"")
        );
    }

    #[test]
    fn a_new_table_is_added_and_one_is_removed() {
        let kind = || vec![("kind", Some("openai".into()))];
        let added = set_table(TEXT, ("mcp", "pages"), kind()).unwrap();
        assert_eq!(added, format!("{TEXT}\n[mcp.pages]\nkind = \"openai\"\n"));
        let removed = remove_table(&added, ("mcp", "pages")).unwrap();
        assert_eq!(removed.as_deref(), Some(TEXT));
        assert_eq!(remove_table(TEXT, ("mcp", "pages")), Ok(None));
        let first = set_table("", ("mcp", "pages"), kind()).unwrap();
        assert_eq!(first, "[mcp.pages]\nkind = \"openai\"\n");
        let variables = [("A".to_owned(), "VAR".to_owned())];
        let variables = pairs(variables.iter().map(|(name, value)| (name, value)));
        let edited = set_table(&first, ("mcp", "pages"), vec![("env_env", variables)]).unwrap();
        assert_eq!(edited, format!("{first}env_env = {{ A = \"VAR\" }}\n"));
    }

    #[test]
    fn a_file_that_is_no_configuration_is_not_edited() {
        let refused = |text: &str| {
            let edited = set_table(text, ("provider", "small"), Vec::new());
            edited.unwrap_err().message
        };
        assert!(refused("[provider\n").starts_with("config.toml cannot be edited: "));
        assert_eq!(
            refused("provider = 1\n"),
            "config.toml cannot be edited: `provider` is no table"
        );
    }
}
