//! Pages: the results of operations in a browser.
//!
//! Every page calls the same operation as the route of its name below `/api/v1/`, and returns the same object if the client
//! requests JSON. Pages show strings of untrusted users: templates escape them, [`daemon_view::text::visible`] makes their hidden
//! characters visible, and the content security policy allows only the host's own script. No page needs the script.

mod accept;
mod action;
mod assets;
mod conversation;
mod detail;
mod frame;
mod listing;
mod live;
mod login;
mod overview;
mod routes;
mod run;
mod schedule;
mod search;
mod spawn;
mod table;
mod usage;

pub(crate) use routes::{not_found, router};
