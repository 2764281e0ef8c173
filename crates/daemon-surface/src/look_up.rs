//! What the failure of a look-up means.

use daemon_engine::{Found, SurfaceError, SurfaceErrorKind};

use crate::api::{ApiError, ApiErrorKind};

/// Converts the result of a look-up.
///
/// An output whose target disappeared cannot be read back. A missing permission does not prove that the output is missing: the
/// look-up is repeated until the permission is granted or the output expires.
pub(crate) fn looked_up(found: Result<Found, ApiError>) -> Result<Found, SurfaceError> {
    let error = match found {
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
