//! Calls that a client follows as tasks, because they may take longer than it waits for a response.

use std::time::Duration;

use rmcp::model::{CallToolResponse, CreateTaskResult};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskExit, TaskManager, TaskOptions};

use crate::ToolCall;
use crate::server::{ToolServer, report_progress};

/// How long a task may run, and how long its result is kept: more than the hour that a call may wait.
const LIFETIME: Duration = Duration::from_secs(70 * 60);
/// How often a client should read the state of a task.
const POLL: Duration = Duration::from_secs(5);
/// The most tasks of one client that run at the same time. Further calls are answered when they end.
const MOST: usize = 64;

/// The tasks of one client. They end with it.
#[derive(Default)]
pub(crate) struct Tasks(TaskManager);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

impl Tasks {
    /// Returns what keeps the tasks.
    pub(crate) fn manager(&self) -> &TaskManager {
        &self.0
    }

    /// Whether a call becomes a task: the client declared that it knows tasks, and the call may take long.
    pub(crate) fn take(
        &self,
        server: &ToolServer,
        call: &ToolCall,
        context: &RequestContext<RoleServer>,
    ) -> bool {
        let capabilities = context.client_capabilities();
        server.has_tasks()
            && capabilities.is_some_and(|known| known.supports_tasks())
            && server.tools().may_take_long(call)
            && self.0.running_task_count() < MOST
    }

    /// Starts a call as a task, and returns its handle. The task reports its progress as a call does; cancelling it drops the call.
    pub(crate) fn start(
        &self,
        server: &ToolServer,
        call: ToolCall,
        context: RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new()
            .with_ttl_ms(millis(LIFETIME))
            .with_poll_interval_ms(millis(POLL));
        let tools = server.tools();
        let task = self.0.spawn(options, |task| {
            Box::pin(async move {
                tokio::select! {
                    result = tools.call(call) => Ok(result.into_wire()),
                    () = report_progress(&context) => unreachable!("it only ends with the call"),
                    () = task.cancelled() => Err(TaskExit::Cancelled),
                }
            })
        });
        CallToolResponse::Task(CreateTaskResult::new(task))
    }
}
