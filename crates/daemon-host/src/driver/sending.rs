//! Sending one output to its surface.

use daemon_engine::{Found, Output, RemoteId, Surface, SurfaceError, SurfaceErrorKind};

/// Delivers an output.
///
/// A service may refuse an output that was sent before, because it carried out the earlier request after the last look-up: a
/// comment with its id exists then, or a pull request from its branch. So the surface is searched for a refused repetition.
///
/// # Errors
/// As [`Surface::deliver`], or as [`Surface::find`] if a refused repetition cannot be looked up.
pub(super) async fn deliver(
    surface: &dyn Surface,
    output: &Output,
) -> Result<RemoteId, SurfaceError> {
    let refused = match surface.deliver(output).await {
        Err(error) if error.kind == SurfaceErrorKind::Refused && output.attempts > 1 => error,
        sent => return sent,
    };
    match surface.find(output).await? {
        Found::At(remote) => Ok(remote),
        Found::Absent | Found::Unreadable => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use daemon_engine::OutputState;
    use daemon_event::DaemonKey;
    use jiff::Timestamp;

    use super::*;

    /// Refuses every output, and finds what it is given.
    struct Refusing(Result<Found, SurfaceError>);

    #[async_trait]
    impl Surface for Refusing {
        fn name(&self) -> &'static str {
            "linear"
        }

        async fn find(&self, _output: &Output) -> Result<Found, SurfaceError> {
            self.0.clone()
        }

        async fn deliver(&self, _output: &Output) -> Result<RemoteId, SurfaceError> {
            Err(error(SurfaceErrorKind::Refused))
        }
    }

    fn error(kind: SurfaceErrorKind) -> SurfaceError {
        SurfaceError::new(kind, "conflict on insert of Comment")
    }

    fn sent(attempts: u32) -> Output {
        Output {
            key: "vaslxln4atzrkk2uzlozen7xez".parse().unwrap(),
            activation: "01M8FJS6PC1QT189TEV8TVNDG6".parse().unwrap(),
            daemon: DaemonKey {
                repo: "o/r".parse().unwrap(),
                id: "worker".parse().unwrap(),
            },
            ordinal: 0,
            surface: "linear".to_owned(),
            target: "linear:ENG-321".to_owned(),
            content: String::new(),
            revision: None,
            state: OutputState::Sending,
            remote_id: None,
            url: None,
            attempts,
            not_before: Timestamp::UNIX_EPOCH,
            created_at: Timestamp::UNIX_EPOCH,
            delivered_at: None,
            in_doubt_since: None,
            error: None,
        }
    }

    #[tokio::test]
    async fn a_repetition_that_is_refused_because_the_first_request_came_late_is_confirmed() {
        let remote = RemoteId {
            id: "comment:40a87229".to_owned(),
            url: None,
            revision: None,
        };
        let there = Refusing(Ok(Found::At(remote.clone())));
        let refusal = Err(error(SurfaceErrorKind::Refused));
        assert_eq!(deliver(&there, &sent(2)).await, Ok(remote));
        // Nothing was sent before, so that the comment is not of this output.
        assert_eq!(deliver(&there, &sent(1)).await, refusal);
        let absent = Refusing(Ok(Found::Absent));
        assert_eq!(deliver(&absent, &sent(2)).await, refusal);
        let silent = Refusing(Err(error(SurfaceErrorKind::Retryable)));
        let later = Err(error(SurfaceErrorKind::Retryable));
        assert_eq!(deliver(&silent, &sent(2)).await, later);
    }
}
