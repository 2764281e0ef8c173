//! Names whose values are secrets.

/// The last words of such names.
const LAST: [&str; 16] = [
    "token",
    "secret",
    "secrets",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "apikey",
    "accesskey",
    "credential",
    "credentials",
    "authorization",
    "auth",
    "bearer",
    "cookie",
    "pat",
];

/// Returns whether the value of a field, option, variable or header with this name is a secret.
///
/// ```
/// use daemon_provider::redact::is_secret_name;
///
/// assert!(is_secret_name("--api-key") && is_secret_name("GITHUB_TOKEN") && is_secret_name("accessToken"));
/// assert!(!is_secret_name("--max-tokens") && !is_secret_name("key") && !is_secret_name("author"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let Some((last, before)) = words.split_last() else {
        return false;
    };
    // `key` by itself is also the name of ordinary fields.
    LAST.contains(&last.as_str()) || (last == "key" && !before.is_empty())
}

/// Splits a name into words at punctuation and at capital letters.
fn words(name: &str) -> Vec<String> {
    let mut acc: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            acc.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = acc.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    acc.retain(|word| !word.is_empty());
    acc
}
