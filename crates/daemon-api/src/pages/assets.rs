//! The style sheet, the script and the icon of the pages, which are served without a login.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, Response, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::http::answer;

/// A file that is built into the program.
pub(super) struct Asset {
    name: String,
    kind: &'static str,
    text: &'static str,
}

/// The style sheet of all pages.
pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "css",
        "text/css; charset=utf-8",
        include_str!("assets/page.css"),
    )
});
/// The script that updates pages of active runs.
pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "js",
        "text/javascript; charset=utf-8",
        include_str!("assets/page.js"),
    )
});
/// The icon of the browser's tab.
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("svg", "image/svg+xml", include_str!("assets/icon.svg")));

impl Asset {
    /// Creates a file with a hash of its content in its name, so that a browser may cache it forever.
    fn new(suffix: &str, kind: &'static str, text: &'static str) -> Self {
        let digest = Sha256::digest(text);
        let hash: String = digest
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            name: format!("page-{hash}.{suffix}"),
            kind,
            text,
        }
    }

    /// Returns the path at which it is served.
    pub(super) fn path(&self) -> String {
        format!("/assets/{}", self.name)
    }
}

/// Serves a file by its name.
pub(super) async fn serve(Path(name): Path<String>) -> Response<Body> {
    let all = [&*STYLE, &*SCRIPT, &*ICON];
    let Some(asset) = all.into_iter().find(|asset| asset.name == name) else {
        return answer::status(StatusCode::NOT_FOUND);
    };
    let mut response = Response::new(Body::from(asset.text));
    for (header, value) in [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(header, value);
    }
    response
}
