//! The in-memory twin: the same semantics as the durable stores, gone with the process.

mod activations;
mod agent_memory;
mod events;
mod facts;
mod listings;
mod model;
mod outbox;
mod registry;
mod roster;
mod seams;
mod search;
mod ticks;

pub use agent_memory::MemoryTwin;
pub use model::StoreModel;
pub use seams::MemoryStore;
