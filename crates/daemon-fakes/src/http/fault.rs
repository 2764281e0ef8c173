//! Faults of a service: replies that are lost, late, wrong or broken.

use std::fmt;
use std::time::Duration;

use super::request::HttpRequest;

/// Whether the service applied a request that it answers with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The effect exists, although the reply is a failure.
    Yes,
    /// The request changed nothing.
    No,
}

/// What happens to one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServiceFault {
    /// The request is served as usual.
    #[default]
    None,
    /// The request is applied, and the connection is closed without a response.
    LostReply,
    /// The connection is closed, and nothing is applied.
    Closed,
    /// The request is applied, and the response is sent after this time.
    LateReply(Duration),
    /// The request is applied after this time, and the response is sent then.
    LateEffect(Duration),
    /// The response has this status and an error in the form of the service.
    Status(u16, Applied),
    /// The response has this status, and an error with this message in the forms of all services.
    Says(u16, String, Applied),
    /// The response asks the client to come back after this many seconds, in the form of the service.
    RateLimited(u32, Applied),
    /// The response is an HTML page with this status, as of a proxy.
    Html(u16, Applied),
    /// The request is applied, and the response has only the first half of the JSON.
    Truncated,
    /// The request is applied, and the connection is closed in the middle of the body.
    Cut,
    /// The request is applied, and the response comes byte by byte with this pause after each.
    Drip(Duration),
}

/// Returns the fault of a request, from its number (from 1) and the request.
type Decide = dyn FnMut(usize, &HttpRequest) -> ServiceFault + Send;

/// Decides what happens to each request.
#[derive(Default)]
pub struct FaultPlan {
    decide: Option<Box<Decide>>,
}

impl fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultPlan").finish_non_exhaustive()
    }
}

impl FaultPlan {
    /// Creates a plan from a function of a request's number (from 1 since the start of the service), method and path.
    pub fn new(mut decide: impl FnMut(usize, &str, &str) -> ServiceFault + Send + 'static) -> Self {
        Self::of_requests(move |number, request| decide(number, &request.method, &request.path))
    }

    /// Creates a plan from a function of a request's number and the whole request. Operations of GraphQL differ only in the body.
    pub fn of_requests(
        decide: impl FnMut(usize, &HttpRequest) -> ServiceFault + Send + 'static,
    ) -> Self {
        let decide: Box<Decide> = Box::new(decide);
        Self {
            decide: Some(decide),
        }
    }

    /// Creates a plan of faults that each happen once, in this order, to requests with this method whose path, or for `/graphql`
    /// whose path or body, contains this part.
    pub fn each_once(
        faults: impl IntoIterator<Item = (&'static str, &'static str, ServiceFault)>,
    ) -> Self {
        let mut waiting: Vec<_> = faults.into_iter().collect();
        Self::of_requests(move |_, request| {
            let is_for = |(method, part, _): &(&str, &str, ServiceFault)| {
                *method == request.method
                    && (request.path.contains(part) || is_operation(request, part))
            };
            let found = waiting.iter().position(is_for);
            found.map_or(ServiceFault::None, |at| waiting.remove(at).2)
        })
    }

    pub(crate) fn decide(&mut self, number: usize, request: &HttpRequest) -> ServiceFault {
        self.decide
            .as_mut()
            .map_or(ServiceFault::None, |decide| decide(number, request))
    }
}

fn is_operation(request: &HttpRequest, part: &str) -> bool {
    request.path == "/graphql" && String::from_utf8_lossy(&request.body).contains(part)
}
