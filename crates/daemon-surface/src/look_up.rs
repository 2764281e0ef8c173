//! What the result of a look-up means.

use daemon_engine::{Found, Output, RetryAfter, SurfaceError, SurfaceErrorKind};
use jiff::SignedDuration;

use crate::api::{ApiError, ApiErrorKind, ServiceApi};

/// How long a service may still carry out a request after the host stopped waiting for the response, or ended.
// Longer than a request that writes may take, because the service does not notice at once that its client is gone.
const IN_FLIGHT: SignedDuration = SignedDuration::from_secs(80);

/// Converts the result of a look-up.
///
/// An output whose target disappeared cannot be read back. A missing permission does not prove that the output is missing: the
/// look-up is repeated until the permission is granted or the output expires. An output whose send was not answered is absent only if it
/// is still not there when no request can be under way any more.
pub(crate) fn looked_up(
    found: Result<Found, ApiError>,
    output: &Output,
    api: &ServiceApi,
) -> Result<Found, SurfaceError> {
    let error = match found {
        Ok(Found::Absent) => return absent(output, api),
        Ok(found) => return Ok(found),
        Err(error) if error.is_absent() => return Ok(Found::Unreadable),
        Err(error) => error,
    };
    let is_final = matches!(
        error.kind,
        ApiErrorKind::Refused(_) | ApiErrorKind::Unusable
    );
    let mut converted = SurfaceError::from(error);
    if is_final {
        converted.kind = SurfaceErrorKind::Retryable;
    }
    Err(converted)
}

fn absent(output: &Output, api: &ServiceApi) -> Result<Found, SurfaceError> {
    let landed = output.in_doubt_since.map(|at| at + IN_FLIGHT);
    match landed.filter(|landed| *landed > api.clock().now()) {
        None => Ok(Found::Absent),
        Some(landed) => {
            let why = "the response to the last request is not known, so it is looked up again before it is sent again";
            let error = SurfaceError::new(SurfaceErrorKind::Retryable, why);
            Err(error.with_retry_after(RetryAfter::Until(landed)))
        }
    }
}
