//! Pages: what the operations answer, for people with a browser.
//!
//! Every page asks the same operation as the route of its name under `/api/v1/`, and answers with the same object where the
//! client asks for JSON. What a page shows is strangers' text: templates escape it, [`text::visible`] makes its invisible
//! characters seen, and a content security policy lets nothing run but the host's own script. No page needs the script.

mod accept;
mod assets;
mod cell;
mod frame;
mod listing;
mod login;
mod overview;
mod routes;
mod run;
mod table;
mod text;

pub(crate) use routes::{not_found, router};
