//! The real binary over real parts: files, git, the embedded store.

mod acts;
mod author_tests;
mod context;
mod corpus;
mod demo;
mod explain;
mod facts;
mod fire;
mod listings;
mod masked;
mod mcp;
mod new;
mod next;
mod pages;
mod recorded;
mod roles;
mod streams;
mod suggest;
mod surroundings;
mod unregistered;
mod world;
