//! The host from outside: the real binary over real repositories, sockets and child processes.
//!
//! Each test has its own repository and home, waits for events and not for time, and ends the processes that it started.

#[macro_use]
mod fields;
#[path = "../kit/mcp_client.rs"]
mod mcp_client;
#[path = "../kit/paths.rs"]
mod paths;
// `cfg(test)` is always true here; with it, clippy allows `unwrap` in helpers too.
#[cfg(test)]
#[expect(dead_code, reason = "the tests of the store use more of it")]
#[path = "../../../../crates/daemon-store-postgres/tests/it/server.rs"]
mod postgres;

mod agents;
mod bad_content;
mod bad_delivery_kit;
mod bad_outputs;
mod bad_provider_kit;
mod bad_providers;
mod bad_results;
mod bad_transport;
mod bridge;
mod browser;
mod canaries;
mod chaos_check;
mod chaos_load;
mod commands;
mod conversing;
mod dice;
mod doctor_probes;
mod emanating;
mod examples;
mod fire_interrupted;
mod fleet;
mod fleet_chaos;
mod fleet_import;
mod fleet_requests;
mod fleet_takeover;
mod git_http;
mod git_server;
mod granted;
mod http;
mod leaks;
mod llm;
mod outbox_kit;
mod rpc;
mod secrets;
mod slow_git;
mod task_servers;
mod trap;
mod world;

mod serve_accessible;
mod serve_actions;
mod serve_agent_mcp;
mod serve_agent_memory;
mod serve_agent_runs;
mod serve_agent_tools;
mod serve_api;
mod serve_attacks;
mod serve_backends;
mod serve_backlog;
mod serve_browser;
mod serve_browser_actions;
mod serve_budget;
mod serve_canaries;
mod serve_cancel;
mod serve_clients;
mod serve_cloudevents;
mod serve_commit;
mod serve_control;
mod serve_conversation_agents;
#[cfg(feature = "internal-testing")]
mod serve_conversation_kills;
mod serve_conversations;
mod serve_crash;
mod serve_crashes;
mod serve_crons;
mod serve_damage;
mod serve_deaf;
mod serve_demo;
mod serve_details;
mod serve_disk;
mod serve_egress;
mod serve_emanate;
mod serve_emanate_agents;
mod serve_emanate_ask;
#[cfg(feature = "internal-testing")]
mod serve_emanate_crash;
mod serve_emanate_deadlines;
mod serve_emanate_ends;
mod serve_emanate_files;
mod serve_emanate_folder;
mod serve_emanate_isolation;
mod serve_emanate_mail;
mod serve_emanate_notices;
mod serve_emanate_output;
mod serve_emanate_refusals;
mod serve_emanate_wait;
mod serve_events;
mod serve_facts;
#[cfg(feature = "internal-testing")]
mod serve_failpoints;
mod serve_file_bytes;
mod serve_follow;
mod serve_from_zero;
mod serve_fuzz;
mod serve_gaps;
mod serve_github;
mod serve_happenings;
mod serve_headlines;
mod serve_hooks;
mod serve_hostile_names;
mod serve_hostile_text;
mod serve_instructions;
mod serve_intake;
mod serve_kills;
mod serve_kills_intake;
#[cfg(feature = "internal-testing")]
mod serve_late;
mod serve_limits;
mod serve_links;
mod serve_mcp;
mod serve_mcp_http;
mod serve_memory;
mod serve_mirror;
mod serve_opening;
mod serve_origin;
mod serve_other_host;
mod serve_outage;
mod serve_outbox_kills;
mod serve_own_messages;
mod serve_own_outputs;
mod serve_pages;
mod serve_parents;
mod serve_place;
mod serve_policy;
mod serve_program;
mod serve_prune;
mod serve_push;
mod serve_rates;
mod serve_reconciled;
#[cfg(test)]
mod serve_reconciled_linear;
mod serve_reload;
mod serve_reminders;
mod serve_replay;
mod serve_reported;
mod serve_retain;
mod serve_rolling;
mod serve_roster;
mod serve_roster_http;
#[cfg(feature = "internal-testing")]
mod serve_roster_time;
mod serve_run_states;
mod serve_runs;
mod serve_sandbox;
mod serve_schedule;
mod serve_settings;
mod serve_signatures;
mod serve_slots;
mod serve_slow_git;
mod serve_sources;
mod serve_standing;
mod serve_standing_pages;
mod serve_standing_steps;
mod serve_start;
mod serve_stop;
mod serve_strays;
mod serve_surfaces;
mod serve_synced;
mod serve_taken_back;
mod serve_tcp;
mod serve_telemetry;
mod serve_traced;
mod serve_trees;
mod serve_turn_kills;
mod serve_unseen;
mod serve_wake;
