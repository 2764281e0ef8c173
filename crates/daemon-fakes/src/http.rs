//! The HTTP server of the fakes: one request per connection, faults, and a record of the requests.

mod fault;
mod listener;
mod query;
mod recent;
mod request;
mod response;
mod server;

pub use fault::{Applied, FaultPlan, ServiceFault};
pub use request::HttpRequest;
pub use server::FakeServer;

pub(crate) use listener::{Closing, Listener};
pub(crate) use query::{decode, encode, pairs};
pub(crate) use recent::Recent;
pub(crate) use response::{HttpResponse, write};
pub(crate) use server::{Service, ServiceError};
