//! What belongs to an object, for its page: the runs and outputs of an activation, and why an event woke a daemon.

use serde_json::{Map, Value, json};

use daemon_records::error::OpError;

use super::{Headlined, Operation, Operations, Params, value};
use crate::wire::OutputObject;

/// The number of activations and of outputs on the page of a daemon.
const NEWEST: u32 = 10;

/// Where payloads of services have the address of what they are about, the most exact first.
const WEB_URLS: [&str; 14] = [
    "/payload/comment/html_url",
    "/payload/review/html_url",
    "/payload/release/html_url",
    "/payload/check_run/html_url",
    "/payload/check_suite/html_url",
    "/payload/workflow_run/html_url",
    "/payload/alert/html_url",
    "/payload/discussion/html_url",
    "/payload/pull_request/html_url",
    "/payload/issue/html_url",
    "/payload/compare",
    "/payload/url",
    "/payload/data/url",
    "/payload/data/issue/web_url",
];

impl Operations {
    /// Adds the headline of an object to the answer of the operation that returned it.
    ///
    /// # Errors
    /// The store could not be read.
    pub(crate) async fn add_headline(
        &self,
        operation: Operation,
        found: &mut Value,
    ) -> Result<(), OpError> {
        let (kind, object) = match operation {
            Operation::ActivationGet => (Headlined::Activation, found),
            Operation::EventGet => (Headlined::Event, found),
            Operation::OutputGet => (Headlined::Output, found),
            Operation::RunGet => (Headlined::Run, &mut found["run"]),
            _ => return Ok(()),
        };
        self.add_headlines(kind, std::slice::from_mut(object)).await
    }

    /// Adds to the answer of an operation that returns one object its headline, and what belongs to the object.
    ///
    /// # Errors
    /// The store could not be read.
    pub(crate) async fn add_parts(
        &self,
        operation: Operation,
        found: &mut Value,
    ) -> Result<(), OpError> {
        self.add_headline(operation, found).await?;
        match operation {
            Operation::ActivationGet => self.add_attempts(found).await,
            Operation::EventGet => self.add_reasons(found).await,
            Operation::OutputGet => self.add_cause(found).await,
            Operation::DaemonGet => self.add_newest(found).await,
            _ => Ok(()),
        }
    }

    /// Adds the runs and the outputs of an activation.
    async fn add_attempts(&self, found: &mut Value) -> Result<(), OpError> {
        let Some(id) = found["id"].as_str().and_then(|id| id.parse().ok()) else {
            return Ok(());
        };
        let runs = self.store.runs_of(&id).await?;
        let runs: Vec<_> = runs.iter().map(|row| self.run_object(row)).collect();
        let outputs = self.store.outputs_of(&id).await?;
        let outputs: Vec<_> = outputs.iter().map(OutputObject::new).collect();
        found["runs"] = value(&runs)?;
        let mut outputs = value(&outputs)?;
        if let Some(rows) = outputs.as_array_mut() {
            self.add_headlines(Headlined::Output, rows).await?;
        }
        found["results"] = outputs;
        Ok(())
    }

    /// Adds why each daemon woke for an event or did not, and where a browser shows what the event is about.
    async fn add_reasons(&self, found: &mut Value) -> Result<(), OpError> {
        let url = WEB_URLS.iter().find_map(|at| found.pointer(at)?.as_str());
        found["url"] = json!(url);
        let mut asked = Map::new();
        asked.insert("event".to_owned(), found["id"].clone());
        asked.insert("all_daemons".to_owned(), json!(true));
        let mut explained = self.explain(Params::new(asked)).await?;
        let mut daemons = explained.remove("daemons").unwrap_or_default();
        for daemon in daemons.as_array_mut().into_iter().flatten() {
            let verdicts = found["verdicts"].as_array().into_iter().flatten();
            let mut own = verdicts.filter(|verdict| verdict["daemon_id"] == daemon["daemon_id"]);
            let activation = own.find_map(|verdict| verdict["activation_id"].as_str());
            daemon["activation_id"] = json!(activation);
            let is_met = daemon["wakes"] == true;
            daemon["verdict"] = json!(match (activation, is_met) {
                (Some(_), _) => "woken",
                (None, true) => "not_woken",
                (None, false) => "not_met",
            });
        }
        // Those that woke are read first.
        if let Some(daemons) = daemons.as_array_mut() {
            daemons.sort_by_key(|daemon| daemon["activation_id"].is_null());
        }
        found["reasons"] = daemons;
        Ok(())
    }

    /// Adds the activation that proposed an output, in words.
    async fn add_cause(&self, found: &mut Value) -> Result<(), OpError> {
        let mut cause = json!({"id": found["activation_id"]});
        let rows = std::slice::from_mut(&mut cause);
        self.add_headlines(Headlined::Activation, rows).await?;
        found["cause"] = cause;
        Ok(())
    }

    /// Adds the newest activations and outputs of a daemon, and what it used.
    async fn add_newest(&self, found: &mut Value) -> Result<(), OpError> {
        let of = json!({
            "daemon": found["daemon"]["id"], "repo": found["daemon"]["repo"], "limit": NEWEST,
        });
        let params = || Params::new(of.as_object().cloned().unwrap_or_default());
        let activations = self.activation_list(params()).await?;
        let outputs = self.output_list(params()).await?;
        for (plural, mut listing) in [("activations", activations), ("outputs", outputs)] {
            self.add_headlines_to(plural, &mut listing).await?;
            found[plural] = listing.remove(plural).unwrap_or_default();
        }
        found["diagnostics"] = found["daemon"]["diagnostics"].clone();
        self.add_usage(found).await
    }
}
