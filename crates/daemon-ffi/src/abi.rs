//! The functions of the C ABI.
#![expect(
    unsafe_code,
    reason = "a C ABI exports symbols and reads pointers; each function states what its caller guarantees"
)]

use std::ffi::{CStr, CString, c_char};
use std::panic::catch_unwind;

use daemon_validate::Profile;
use jiff::Timestamp;

use crate::{ArgumentError, LintPlace, interpret_json, lint_json, next_json, parse_json};

/// Parses the text of a daemon file. Returns its fields with their places, and what cannot be read as diagnostics.
///
/// # Safety
///
/// `text` points to `length` bytes, or is NULL and `length` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon_md_parse(text: *const c_char, length: usize) -> *mut c_char {
    // SAFETY: the caller guarantees the length.
    let text = unsafe { bytes(text, length) };
    answer(|| Ok(parse_json(text)))
}

/// Checks the text of a daemon file. Returns the report of `daemon-lint --format json`.
///
/// `path` is the path of the file from the root of its repository, with `/` between its parts; NULL turns rules about the place
/// of the file off. `profile` is `spec` or `strict`, NULL is `spec`. `zone` is the IANA name of the zone of the schedule, NULL is
/// UTC. No file is read.
///
/// # Safety
///
/// `text` points to `length` bytes, or is NULL and `length` is 0. The other pointers are NULL or NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon_md_lint(
    text: *const c_char,
    length: usize,
    path: *const c_char,
    profile: *const c_char,
    zone: *const c_char,
) -> *mut c_char {
    // SAFETY: the caller guarantees the length.
    let text = unsafe { bytes(text, length) };
    // SAFETY: the caller guarantees strings or NULL.
    let [path, profile, zone] = unsafe { [string(path), string(profile), string(zone)] };
    answer(|| {
        let profile = argument("profile", profile)?.unwrap_or(Profile::Spec.as_str());
        let place = LintPlace {
            path: argument("path", path)?,
            profile: profile
                .parse()
                .map_err(|error: daemon_validate::ProfileError| {
                    ArgumentError::usage(error.to_string())
                })?,
            zone: argument("zone", zone)?.unwrap_or("UTC"),
            now: Timestamp::now(),
        };
        lint_json(text, &place)
    })
}

/// Interprets a watch condition. Returns the events, the filters and the words that were not understood.
///
/// # Safety
///
/// `condition` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon_md_interpret(condition: *const c_char) -> *mut c_char {
    // SAFETY: the caller guarantees a string.
    let condition = unsafe { string(condition) };
    answer(|| Ok(interpret_json(required("condition", condition)?)))
}

/// Computes the next `count` ticks of a five-field cron expression, strictly later than `from`.
///
/// `zone` is an IANA name, NULL is UTC. `from` is an instant in RFC 3339, NULL is the current time. `count` is at most 10000.
///
/// # Safety
///
/// `expression` is a NUL-terminated string. The other pointers are NULL or NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon_md_next(
    expression: *const c_char,
    zone: *const c_char,
    from: *const c_char,
    count: u32,
) -> *mut c_char {
    // SAFETY: the caller guarantees strings or NULL.
    let [expression, zone, from] = unsafe { [string(expression), string(zone), string(from)] };
    answer(|| {
        let from = match argument("from", from)? {
            None => Timestamp::now(),
            Some(text) => text.parse().map_err(|error| {
                ArgumentError::usage(format!("`{text}` is not an instant: {error}"))
                    .help("RFC 3339, such as 2026-11-23T14:30:00Z")
            })?,
        };
        let zone = argument("zone", zone)?.unwrap_or("UTC");
        next_json(required("expression", expression)?, zone, from, count)
    })
}

/// Returns the version of the library. The string is static and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn daemon_md_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no NUL"),
        };
    VERSION.as_ptr()
}

/// Frees a result of this library. NULL is ignored.
///
/// # Safety
///
/// `result` is NULL or was returned by `daemon_md_parse`, `daemon_md_lint`, `daemon_md_interpret` or `daemon_md_next`, and has
/// not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon_md_free(result: *mut c_char) {
    if !result.is_null() {
        // SAFETY: the caller guarantees a result of `answer`, which is from `CString::into_raw`.
        drop(unsafe { CString::from_raw(result) });
    }
}

/// Runs a call and returns its JSON as a string that the caller owns.
fn answer(
    call: impl FnOnce() -> Result<String, ArgumentError> + std::panic::UnwindSafe,
) -> *mut c_char {
    let json = match catch_unwind(call) {
        Ok(Ok(json)) => json,
        Ok(Err(refusal)) => refusal.to_json(),
        Err(_) => ArgumentError::bug("the call panicked; standard error has the message").to_json(),
    };
    // JSON escapes NUL, so the conversion cannot fail; an empty string would be the result if it did.
    CString::new(json).unwrap_or_default().into_raw()
}

/// # Safety
///
/// `text` points to `length` bytes that live as long as the result, or is NULL and `length` is 0.
const unsafe fn bytes<'a>(text: *const c_char, length: usize) -> &'a [u8] {
    if text.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller guarantees the length.
    unsafe { std::slice::from_raw_parts(text.cast(), length) }
}

/// # Safety
///
/// `text` is NULL or a NUL-terminated string that lives as long as the result.
unsafe fn string<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller guarantees a string.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

fn argument<'a>(name: &str, text: Option<&'a CStr>) -> Result<Option<&'a str>, ArgumentError> {
    let text = text.map(CStr::to_str).transpose();
    text.map_err(|error| ArgumentError::usage(format!("`{name}` is not UTF-8: {error}")))
}

fn required<'a>(name: &str, text: Option<&'a CStr>) -> Result<&'a str, ArgumentError> {
    argument(name, text)?.ok_or_else(|| ArgumentError::usage(format!("`{name}` is NULL")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_the_code_of_a_bug() {
        let result = answer(|| panic!("on purpose"));
        // SAFETY: `answer` returns a string.
        let json = unsafe { CStr::from_ptr(result) }.to_str().unwrap();
        assert_eq!(
            json,
            "{\"schema_version\":1,\"ok\":false,\"error\":{\"code\":\"bug\",\"message\":\"the call panicked; standard error has \
             the message\",\"help\":null,\"start\":null,\"end\":null}}"
        );
        // SAFETY: it is freed once.
        unsafe { daemon_md_free(result) };
    }
}
