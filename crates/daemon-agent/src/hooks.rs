//! The composite of all hooks: one map from the names of tools to the hooks that run them.

mod ask;
mod delegate;
mod memory;
mod os;
mod reminders;
mod skills;
mod subscriptions;

pub(crate) use ask::{ASK_USER, answer};
pub use memory::MemoryHook;
pub use skills::SkillsHook;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{
    LoopCall, ToolError, ToolOutput, ToolSet, ToolSetError, ToolSource, ToolSpec,
};
use serde_json::Value;

use crate::definition::{AgentDefinition, ToolChoice};
use crate::event::AgentEvent;
use crate::hook::{Hook, Injected};
use crate::turn::TurnContext;
use ask::AskHook;
use delegate::DelegateHook;
use os::OsHook;
use reminders::ReminderHook;
use subscriptions::SubscriptionHook;

/// The hooks of a host, whose tools have different names.
#[derive(Clone)]
pub struct AgentHooks(Arc<[Arc<dyn Hook>]>);

/// Two tools of one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hooks `{first}` and `{second}` both have a tool `{tool}`")]
pub struct HookCollision {
    /// The name of the tool.
    pub tool: String,
    /// The hook that comes first.
    pub first: String,
    /// The other hook.
    pub second: String,
}

impl fmt::Debug for AgentHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|hook| hook.name()))
            .finish()
    }
}

impl AgentHooks {
    /// Combines the hooks of this crate with others, in this order.
    ///
    /// # Errors
    /// If two tools have one name: a model could not distinguish them.
    pub fn new(others: impl IntoIterator<Item = Arc<dyn Hook>>) -> Result<Self, HookCollision> {
        let own: [Arc<dyn Hook>; 4] = [
            Arc::new(AskHook),
            Arc::new(DelegateHook),
            Arc::new(SubscriptionHook),
            Arc::new(ReminderHook),
        ];
        let hooks: Arc<[_]> = own.into_iter().chain(others).collect();
        let agent = AgentDefinition::unrestricted();
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        for hook in hooks.iter() {
            for tool in hook.tools(&agent) {
                if let Some(first) = owners.insert(tool.name.clone(), hook.name()) {
                    return Err(HookCollision {
                        tool: tool.name,
                        first: first.to_owned(),
                        second: hook.name().to_owned(),
                    });
                }
            }
        }
        drop(owners);
        Ok(Self(hooks))
    }

    /// Adds a hook whose tools have names that no other hook has.
    #[must_use]
    pub fn and(&self, hook: Arc<dyn Hook>) -> Self {
        Self(self.0.iter().cloned().chain([hook]).collect())
    }

    /// Adds the tools that work in the place of a turn.
    pub(crate) fn with_sources(&self, sources: &[Arc<dyn ToolSource>]) -> Self {
        let os: Arc<dyn Hook> = Arc::new(OsHook::of(sources));
        Self([os].into_iter().chain(self.0.iter().cloned()).collect())
    }

    /// Returns the tools of a turn: those that its agent may use, each run by its hook.
    ///
    /// # Errors
    /// If two tools have one name, or a schema is invalid.
    pub(crate) fn tool_set(
        &self,
        context: &Arc<TurnContext>,
        choice: ToolChoice,
    ) -> Result<ToolSet, ToolSetError> {
        let sources = self.0.iter().map(|hook| {
            let hook = Arc::clone(hook);
            let context = Arc::clone(context);
            Arc::new(HookTools { hook, context }) as Arc<dyn ToolSource>
        });
        let allowed = context.agent.tools.clone();
        let set = ToolSet::new(sources.collect())?;
        Ok(set.within(move |name| choice == ToolChoice::Auto && allowed.has(name)))
    }

    /// Returns the prompt of an agent, byte for byte, and the additions of the hooks.
    pub(crate) fn system(&self, agent: &AgentDefinition) -> Option<String> {
        let added = self.0.iter().filter_map(|hook| hook.system_prompt(agent));
        let parts: Vec<String> = agent.system().into_iter().chain(added).collect();
        Some(parts.join("\n\n")).filter(|system| !system.is_empty())
    }

    /// Returns what the hooks place before the message of a turn.
    pub(crate) async fn before_run(&self, context: &TurnContext) -> Vec<Injected> {
        let mut acc = Vec::new();
        for hook in self.0.iter() {
            acc.extend(hook.before_run(&context.turn()).await);
        }
        acc
    }

    /// Passes an event to the hooks.
    pub(crate) async fn on_event(&self, context: &TurnContext, event: &AgentEvent) {
        for hook in self.0.iter() {
            hook.on_event(&context.turn(), event).await;
        }
    }
}

/// The tools of one hook in one turn.
struct HookTools {
    hook: Arc<dyn Hook>,
    context: Arc<TurnContext>,
}

impl fmt::Debug for HookTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HookTools({})", self.hook.name())
    }
}

#[async_trait]
impl ToolSource for HookTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.hook.tools(&self.context.agent)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let call = LoopCall {
            id: self.context.calling(),
            name: name.to_owned(),
            arguments,
        };
        self.hook.dispatch(&self.context.turn(), call).await
    }
}
