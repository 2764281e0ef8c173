//! The surface `linear`: comments on issues, and changes to them.

mod comments;
pub(crate) mod graphql;
mod issues;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_engine::proposal::{Act, OutputTarget, OutputVerb};
use daemon_engine::{
    Found, Output, PlaceCondition, PlaceReport, RemoteId, Surface, SurfaceError, SurfaceErrorKind,
};
use serde::Deserialize;
use serde_json::json;

use crate::act::ActContent;
use crate::api::{ApiError, RequestEffect, ServiceApi};
use crate::look_up::looked_up;
use crate::text::OutputMark;

/// The name of this surface in outputs.
pub const LINEAR: &str = "linear";

/// Delivers outputs to Linear.
#[derive(Debug)]
pub struct LinearSurface {
    api: ServiceApi,
    /// The id of the account, once it is known.
    viewer: Mutex<Option<Arc<str>>>,
}

#[derive(Debug, Deserialize)]
struct ViewerData {
    viewer: Viewer,
}

#[derive(Debug, Deserialize)]
struct Viewer {
    id: String,
    name: Option<String>,
}

impl LinearSurface {
    /// Makes the surface.
    pub fn new(api: ServiceApi) -> Self {
        Self {
            api,
            viewer: Mutex::new(None),
        }
    }

    async fn account(&self) -> Result<Viewer, ApiError> {
        let data: ViewerData =
            graphql::read(&self.api, "query { viewer { id name } }", json!({})).await?;
        Ok(data.viewer)
    }

    /// Returns the id of the account that outputs are written as.
    async fn viewer(&self) -> Result<Arc<str>, ApiError> {
        if let Some(known) = self.viewer.lock().expect("no holder panics").clone() {
            return Ok(known);
        }
        let id: Arc<str> = self.account().await?.id.into();
        *self.viewer.lock().expect("no holder panics") = Some(Arc::clone(&id));
        Ok(id)
    }
}

#[async_trait]
impl Surface for LinearSurface {
    fn name(&self) -> &str {
        LINEAR
    }

    async fn find(&self, output: &Output) -> Result<Found, SurfaceError> {
        let (content, act) = ActContent::read(output)?;
        let job = Job::new(self, output, &content, &act)?;
        let found = match act.verb {
            OutputVerb::Comment | OutputVerb::EditComment => comments::find(&job).await,
            OutputVerb::EditIssue => issues::find(&job).await,
            _ => Err(job.unserved()),
        };
        looked_up(found, output, &self.api).map_err(|error| error.of("Linear"))
    }

    async fn deliver(&self, output: &Output) -> Result<RemoteId, SurfaceError> {
        let (content, act) = ActContent::read(output)?;
        let job = Job::new(self, output, &content, &act)?;
        let delivered = match act.verb {
            OutputVerb::Comment => comments::deliver(&job).await,
            OutputVerb::EditComment => comments::edit(&job).await,
            OutputVerb::EditIssue => issues::deliver(&job).await,
            _ => Err(job.unserved()),
        };
        delivered.map_err(|error| SurfaceError::from(error).of("Linear"))
    }

    async fn account(&self) -> Result<Option<String>, SurfaceError> {
        let known = self.viewer().await.map(|id| Some(id.to_string()));
        known.map_err(|error| SurfaceError::from(error).of("Linear"))
    }

    async fn examine(&self) -> Vec<PlaceReport> {
        let condition = match self.account().await {
            Ok(viewer) => PlaceCondition::Takes {
                detail: format!(
                    "outputs are written as `{}`",
                    viewer.name.unwrap_or(viewer.id)
                ),
            },
            Err(error) => PlaceCondition::Refuses {
                detail: SurfaceError::from(error).message,
                remedy: "see surfaces.linear.token_file".to_owned(),
            },
        };
        vec![PlaceReport {
            place: "account".to_owned(),
            condition,
        }]
    }
}

/// One output on its way to Linear.
struct Job<'a> {
    surface: &'a LinearSurface,
    api: &'a ServiceApi,
    output: &'a Output,
    content: &'a ActContent,
    act: &'a Act,
    /// The key of the issue: `ENG-12`.
    issue: &'a str,
    mark: OutputMark,
}

impl<'a> Job<'a> {
    fn new(
        surface: &'a LinearSurface,
        output: &'a Output,
        content: &'a ActContent,
        act: &'a Act,
    ) -> Result<Self, SurfaceError> {
        let Some(OutputTarget::LinearIssue(issue)) = &act.target else {
            let why = format!("`{}` is not an issue of Linear", output.target);
            return Err(SurfaceError::new(SurfaceErrorKind::Refused, why));
        };
        Ok(Self {
            surface,
            api: &surface.api,
            output,
            content,
            act,
            issue,
            mark: OutputMark::of(output),
        })
    }

    fn unserved(&self) -> ApiError {
        refused(format!("`{}` is not served here", self.act.verb))
    }
}

/// The error for an output that Linear would not accept, without a request.
fn refused(why: impl Into<String>) -> ApiError {
    ApiError::refused(RequestEffect::None, why)
}
