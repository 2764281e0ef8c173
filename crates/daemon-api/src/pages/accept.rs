//! Content negotiation: whether a client gets a page or JSON.

use axum::http::{HeaderMap, header};

/// The representation that a client prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Representation {
    /// HTML.
    Page,
    /// The JSON object of the operation.
    Json,
}

/// Chooses the representation at the address of a page: JSON only if `Accept` prefers it to HTML.
pub(super) fn on_page(headers: &HeaderMap) -> Representation {
    match weights(headers) {
        (html, Some(json)) if html.is_none_or(|html| json > html) => Representation::Json,
        _ => Representation::Page,
    }
}

/// Reports whether a client follows a page: browsers accept only a stream then.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT);
    accepted.is_some_and(|accepted| accepted == "text/event-stream")
}

/// Chooses the representation at any other address: HTML only if `Accept` names it.
pub(super) fn among_others(headers: &HeaderMap) -> Representation {
    match weights(headers) {
        // Browsers name HTML, and other programs usually do not.
        (Some(html), json) if json.is_none_or(|json| html >= json) => Representation::Page,
        _ => Representation::Json,
    }
}

/// Returns the weights of HTML and of JSON in `Accept`, in thousandths; `None` if the type is not named.
fn weights(headers: &HeaderMap) -> (Option<u32>, Option<u32>) {
    let values = headers.get_all(header::ACCEPT).iter();
    let ranges = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let (mut html, mut json) = (None, None);
    for range in ranges {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q="));
        let weight = quality.map_or(1_000, thousandths);
        match kind.as_str() {
            "text/html" | "application/xhtml+xml" => html = html.max(Some(weight)),
            "application/json" => json = json.max(Some(weight)),
            _ => {}
        }
    }
    let wanted = |weight: &u32| *weight > 0;
    (html.filter(wanted), json.filter(wanted))
}

/// Parses a quality such as `0.8`; an invalid one counts as 0.
fn thousandths(quality: &str) -> u32 {
    let quality: f32 = quality.parse().unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and 1,000"
    )]
    let thousandths = (quality.clamp(0.0, 1.0) * 1_000.0) as u32;
    thousandths
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::Representation::{self, Json, Page};
    use super::{among_others, on_page};

    fn chosen(accept: Option<&str>) -> (Representation, Representation) {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            let value = HeaderValue::from_str(accept).unwrap();
            headers.insert(header::ACCEPT, value);
        }
        (on_page(&headers), among_others(&headers))
    }

    #[test]
    fn pages_default_to_html_and_other_addresses_to_json() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (accept, expected) in [
            (None, (Page, Json)),
            (Some("*/*"), (Page, Json)),
            (Some(browser), (Page, Page)),
            (Some("application/json"), (Json, Json)),
            (Some("Application/JSON; charset=utf-8"), (Json, Json)),
            (Some("application/json, text/html;q=0.5"), (Json, Json)),
            (Some("application/json;q=0.5, text/html"), (Page, Page)),
            (Some("application/json;q=0"), (Page, Json)),
            (Some("text/html;q=x, application/json"), (Json, Json)),
        ] {
            assert_eq!(chosen(accept), expected, "{accept:?}");
        }
    }
}
