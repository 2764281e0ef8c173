//! The HTTP client of one API: requests only below its base URL, with limits on time, size, redirects and rate.

mod app;
mod base;
mod client;
mod clock;
mod credentials;
mod failure;
mod gate;
mod paging;

pub use app::{AppCredentials, AppKey, InvalidKey};
pub use base::{ApiBase, InvalidBase};
pub use client::{ApiSetupError, ServiceApi};
pub use clock::WallClock;
pub use credentials::{ApiToken, Credentials, InvalidToken};

pub(crate) use client::ApiAnswer;
pub(crate) use failure::{ApiError, ApiErrorKind, RequestEffect, cleaned};
pub(crate) use paging::{Listed, PAGE, Taken};
