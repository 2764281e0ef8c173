//! The table of operations, which the control protocol, the HTTP routes, the MCP tools and the commands are projected from.

use std::str::FromStr;

use daemon_records::error::{OpError, OpErrorKind};

use super::params::shown;

/// The access that a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Reads.
    Read,
    /// Starts, stops and holds daemons and runs.
    Operate,
    /// Changes the host itself.
    Admin,
}

impl Scope {
    /// Returns the scope's name in the control protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

/// The verb of an HTTP route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads; answered with 200.
    Get,
    /// Changes something or takes a body; answered with 202.
    Post,
}

/// How an operation is reached.
#[derive(Clone, Copy, Debug)]
struct Spec {
    method: &'static str,
    verb: Verb,
    route: Option<&'static str>,
    scope: Scope,
}

/// Declares [`Operation`] and its table, so that neither can have a row that the other does not.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident: $method:literal, $verb:ident $route:expr, $scope:ident;)*) => {
        /// An operation of a host.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($(#[$doc])* $name,)*
        }

        impl Operation {
            /// Every operation, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            const fn spec(self) -> Spec {
                match self {
                    $(Self::$name => Spec {
                        method: $method,
                        verb: Verb::$verb,
                        route: $route,
                        scope: Scope::$scope,
                    },)*
                }
            }
        }
    };
}

operations! {
    /// Lists the registered daemons.
    DaemonList: "daemon/list", Get Some("daemons"), Read;
    /// Returns one daemon with its conditions and support tree.
    DaemonGet: "daemon/get", Get Some("daemons/{id}"), Read;
    /// Returns the next ticks of a daemon.
    DaemonNext: "daemon/next", Get Some("daemons/{id}/next"), Read;
    /// Wakes a daemon for a person.
    DaemonFire: "daemon/fire", Post Some("daemons/{id}/fire"), Operate;
    /// Closes a daemon's gate.
    DaemonHold: "daemon/hold", Post Some("daemons/{id}/hold"), Operate;
    /// Opens a daemon's gate.
    DaemonGo: "daemon/go", Post Some("daemons/{id}/go"), Operate;
    /// Explains which daemons an event would wake. It takes a payload, so its verb is POST, and changes nothing.
    DaemonExplain: "daemon/explain", Post Some("explain"), Read;
    /// Lists activations.
    ActivationList: "activation/list", Get Some("activations"), Read;
    /// Returns one activation.
    ActivationGet: "activation/get", Get Some("activations/{id}"), Read;
    /// Makes a failed activation pending again.
    ActivationRetry: "activation/retry", Post Some("activations/{id}/retry"), Operate;
    /// Cancels an activation and stops its run.
    ActivationCancel: "activation/cancel", Post Some("activations/{id}/cancel"), Operate;
    /// Lists runs.
    RunList: "run/list", Get Some("runs"), Read;
    /// Returns one run.
    RunGet: "run/get", Get Some("runs/{id}"), Read;
    /// Returns the log of a run.
    RunLog: "run/log", Get Some("runs/{id}/log"), Read;
    /// Sends a message to a run.
    RunAsk: "run/ask", Post Some("runs/{id}/ask"), Operate;
    /// Stops a run.
    RunCancel: "run/cancel", Post Some("runs/{id}/cancel"), Operate;
    /// Calls the `daemon` tool. It has no route: the call names directories of this machine, and HTTP clients may be on another.
    RunCall: "run/call", Post None, Operate;
    /// Lists events.
    EventList: "event/list", Get Some("events"), Read;
    /// Returns one event with its payload.
    EventGet: "event/get", Get Some("events/{id}"), Read;
    /// Delivers a stored event again.
    EventReplay: "event/replay", Post Some("events/{id}/replay"), Operate;
    /// Lists recorded ticks.
    TickList: "tick/list", Get Some("ticks"), Read;
    /// Lists outputs.
    OutputList: "output/list", Get Some("outputs"), Read;
    /// Returns one output. It has no route; its page has the object.
    OutputGet: "output/get", Get None, Read;
    /// Removes the branches of daemons that are merged, or whose pull request is closed.
    OutputPrune: "output/prune", Post Some("outputs/prune"), Operate;
    /// Sends a message to an agent and waits for the end of the turn. It has no route, as all that belongs to conversations: a
    /// working directory names one of this machine.
    ConversationSend: "conversation/send", Post None, Operate;
    /// Sends a message to an agent and streams the events of the turn.
    ConversationStream: "conversation/stream", Post None, Operate;
    /// Answers a question of an agent.
    ConversationReplyToAsk: "conversation/reply_to_ask", Post None, Operate;
    /// Ends the running turn of a conversation.
    ConversationKill: "conversation/kill", Post None, Operate;
    /// Has the model replace the messages of a conversation by a summary.
    ConversationCompact: "conversation/compact", Post None, Operate;
    /// Returns lines of a conversation.
    ConversationHistory: "conversation/history", Get None, Read;
    /// Lists conversations.
    ConversationList: "conversation/list", Get None, Read;
    /// Deletes a conversation.
    ConversationDelete: "conversation/delete", Post None, Operate;
    /// Lists agents.
    AgentList: "agent/list", Get None, Read;
    /// Returns one agent.
    AgentGet: "agent/get", Get None, Read;
    /// Creates an agent.
    AgentCreate: "agent/create", Post None, Admin;
    /// Changes an agent.
    AgentUpdate: "agent/update", Post None, Admin;
    /// Deletes an agent.
    AgentDelete: "agent/delete", Post None, Admin;
    /// Publishes an event.
    EventPublish: "event/publish", Post None, Operate;
    /// Streams the events of all conversations.
    EventSubscribe: "event/subscribe", Get None, Read;
    /// Subscribes an agent to events.
    SubscriptionCreate: "subscription/create", Post None, Operate;
    /// Lists subscriptions.
    SubscriptionList: "subscription/list", Get None, Read;
    /// Ends a subscription.
    SubscriptionDelete: "subscription/delete", Post None, Operate;
    /// Lists the providers.
    ProviderList: "provider/list", Get None, Read;
    /// Sets a provider in the configuration.
    ProviderSet: "provider/set", Post None, Admin;
    /// Removes a provider from the configuration.
    ProviderDelete: "provider/delete", Post None, Admin;
    /// Lists the models of the providers.
    ModelList: "model/list", Get None, Read;
    /// Sets the model that answers for agents that name none.
    ModelSetActive: "model/set_active", Post None, Admin;
    /// Lists the MCP servers and the states of their connections.
    McpList: "mcp/list", Get None, Read;
    /// Sets an MCP server in the configuration.
    McpSet: "mcp/set", Post None, Admin;
    /// Removes an MCP server from the configuration.
    McpDelete: "mcp/delete", Post None, Admin;
    /// Connects to an MCP server again.
    McpRestart: "mcp/restart", Post None, Admin;
    /// Lists skills.
    SkillList: "skill/list", Get None, Read;
    /// Returns one skill with its body.
    SkillGet: "skill/get", Get None, Read;
    /// Adds a schedule that starts turns.
    CronCreate: "cron/create", Post None, Operate;
    /// Lists crons.
    CronList: "cron/list", Get None, Read;
    /// Removes a cron.
    CronDelete: "cron/delete", Post None, Operate;
    /// Lists the notices: the ends of runs, and reminders.
    NoticeList: "notice/list", Get None, Read;
    /// Keeps a reminder, which is announced when it is due.
    NoticeRemind: "notice/remind", Post None, Operate;
    /// Takes the notices of a channel out.
    NoticeDismiss: "notice/dismiss", Post None, Operate;
    /// Lists the roster with its batons.
    RosterList: "roster/recall_roster", Get Some("roster"), Read;
    /// Returns one row of the roster with its reset, wind-down, signals and check-ins.
    RosterGet: "roster/recall_daemon", Get Some("roster/{id}"), Read;
    /// Lists signals in the order in which they are drained.
    RosterSignals: "roster/recall_signals", Get None, Read;
    /// Lists the daemons and whether they are to compact their context.
    RosterCompaction: "roster/recall_compaction", Get None, Read;
    /// Lists resets, the newest first.
    RosterResets: "roster/recall_reset", Get None, Read;
    /// Lists the charters with their versions.
    RosterCharters: "roster/recall_charters", Get None, Read;
    /// Lists entries of the audit log of the roster, the newest first.
    RosterAudit: "roster/recall_audit", Get None, Read;
    /// Checks a daemon in.
    RosterCheckIn: "roster/daemon_checkin", Post None, Operate;
    /// Queues a signal.
    RosterEnqueue: "roster/signal_enqueue", Post None, Operate;
    /// Claims a signal under a lease.
    RosterClaim: "roster/signal_claim", Post None, Operate;
    /// Completes a claimed signal.
    RosterComplete: "roster/signal_complete", Post None, Operate;
    /// Reports that a claimed signal cannot be done.
    RosterFail: "roster/signal_fail", Post None, Operate;
    /// Withdraws a signal.
    RosterCancelSignal: "roster/signal_cancel", Post None, Operate;
    /// Queues a line for a daemon.
    RosterPoke: "roster/daemon_poke", Post Some("roster/{id}/poke"), Operate;
    /// Opens the gate of a row.
    RosterGo: "roster/daemon_go", Post Some("roster/{id}/go"), Operate;
    /// Closes the gate of a row.
    RosterHold: "roster/daemon_hold", Post Some("roster/{id}/hold"), Operate;
    /// Returns whether a daemon may act, with the generation of its baton.
    RosterAuthorize: "roster/daemon_authorize", Post None, Operate;
    /// Requests that a daemon compacts its context.
    RosterCompact: "roster/daemon_request_compaction", Post Some("roster/{id}/compact"), Operate;
    /// Reports that a context was compacted.
    RosterCompacted: "roster/daemon_compaction_done", Post None, Operate;
    /// Requests that a daemon is replaced.
    RosterReset: "roster/daemon_request_reset", Post Some("roster/{id}/reset"), Operate;
    /// Starts the successor of a daemon that is to be replaced.
    RosterStartReset: "roster/daemon_start_reset", Post None, Operate;
    /// Reports that the successor can take over.
    RosterSuccessorReady: "roster/daemon_successor_ready", Post None, Operate;
    /// Hands the baton over to the successor.
    RosterHandOff: "roster/daemon_reset_handoff", Post None, Operate;
    /// Closes and retires the predecessor after the hand-over.
    RosterRetirePredecessor: "roster/daemon_retire_predecessor", Post None, Operate;
    /// Gives a reset up before its hand-over.
    RosterCancelReset: "roster/daemon_cancel_reset", Post None, Operate;
    /// Requests that a daemon winds down.
    RosterWindDown: "roster/daemon_request_winddown", Post Some("roster/{id}/winddown"), Operate;
    /// Reports that the caller has wound down.
    RosterWindDownReady: "roster/daemon_winddown_ready", Post None, Operate;
    /// Returns whether all daemons of a project but its orchestrator have wound down.
    RosterSubordinates: "roster/daemon_subordinates_ready", Post None, Operate;
    /// Withdraws a wind-down.
    RosterCancelWindDown: "roster/daemon_cancel_winddown", Post None, Operate;
    /// Withdraws the reset or the wind-down of a row, the reset if both are open. It is for people: an agent says which one.
    RosterCancel: "roster/daemon_cancel", Post Some("roster/{id}/cancel"), Operate;
    /// Closes and retires a daemon.
    RosterRetire: "roster/daemon_retire", Post Some("roster/{id}/retire"), Operate;
    /// Plans the start of a daemon; nothing is started.
    RosterPlan: "roster/spawn_plan", Post None, Operate;
    /// Starts a daemon that was planned.
    RosterConfirm: "roster/spawn_confirm", Post None, Operate;
    /// Delivers one line to a daemon at once.
    RosterInterject: "roster/interject", Post None, Operate;
    /// Reports a tool that the program of an agent blocked.
    RosterReportBlocked: "roster/daemon_report_blocked", Post None, Operate;
    /// Examines the host.
    HostDoctor: "host/doctor", Get Some("doctor"), Read;
    /// Closes the host's gate.
    HostHold: "host/hold", Post Some("hold"), Operate;
    /// Opens the host's gate.
    HostGo: "host/go", Post Some("go"), Operate;
    /// Reads the configuration again.
    HostReload: "host/reload", Post Some("reload"), Admin;
    /// Returns counters of the host.
    HostStats: "host/stats", Get Some("stats"), Read;
    /// Makes a link that logs a browser in once. It has no route: a caller over HTTP is logged in already.
    HostLogin: "host/login", Post None, Admin;
}

impl Operation {
    /// Returns the method of the control protocol, such as `daemon/list`.
    pub const fn method(self) -> &'static str {
        self.spec().method
    }

    /// Returns the verb of the HTTP route.
    pub const fn verb(self) -> Verb {
        self.spec().verb
    }

    /// Returns the HTTP route below `/api/v1/`, in which `{id}` becomes the parameter `id`; `None` for an operation of the
    /// control protocol alone.
    pub const fn route(self) -> Option<&'static str> {
        self.spec().route
    }

    /// Returns the tool of the roster that this operation is; `None` for another operation.
    pub fn roster_tool(self) -> Option<&'static str> {
        self.method().strip_prefix("roster/")
    }

    /// Returns the access that a caller needs.
    pub const fn scope(self) -> Scope {
        self.spec().scope
    }
}

/// The name of a method that the table does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no method `{0}`")]
pub struct UnknownMethod(pub String);

impl FromStr for Operation {
    type Err = UnknownMethod;

    fn from_str(method: &str) -> Result<Self, UnknownMethod> {
        let mut all = Self::ALL.iter().copied();
        all.find(|operation| operation.method() == method)
            .ok_or_else(|| UnknownMethod(shown(method)))
    }
}

impl From<UnknownMethod> for OpError {
    fn from(error: UnknownMethod) -> Self {
        Self::new(OpErrorKind::NotFound, "method-not-found", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Operation, UnknownMethod};

    #[test]
    fn methods_and_routes_are_unique_and_methods_parse_back() {
        let methods: BTreeSet<&str> = Operation::ALL.iter().map(|one| one.method()).collect();
        assert_eq!(methods.len(), Operation::ALL.len());
        let routes: Vec<_> = Operation::ALL
            .iter()
            .filter_map(|one| one.route())
            .collect();
        assert_eq!(routes.iter().collect::<BTreeSet<_>>().len(), routes.len());
        for operation in Operation::ALL {
            assert_eq!(operation.method().parse(), Ok(*operation));
        }
        let unknown = UnknownMethod("host/stop".to_owned());
        assert_eq!("host/stop".parse::<Operation>(), Err(unknown));
    }
}
