//! What every store must do, as cases that any store's tests run.
//!
//! A case gets an empty store and panics where the store departs from the contract. [`compare`] drives two stores with
//! the same random operations and demands the same answers.

mod admission;
mod agent_memory;
mod attempts;
mod calendar;
mod claims;
mod concurrency;
mod crashes;
mod events;
mod facts;
mod history;
mod hosting;
mod listings;
mod outbox;
mod random;
mod readiness;
mod registry;
mod reports;
mod roster;
mod roster_log;
mod runs;
mod scene;
mod search;
mod state;
mod ticks;

use std::future::Future;
use std::pin::Pin;

use crate::traits::Store;

pub use agent_memory::{MEMORY_CASES, MemoryCase, compare_memories};
pub use history::history;
pub use random::compare;

/// A case as it runs.
pub type Running<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// One behaviour that every store must show.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The behaviour, as a sentence with underscores.
    pub name: &'static str,
    run: for<'a> fn(&'a dyn Store) -> Running<'a>,
}

impl Case {
    /// Runs the case on an empty store.
    ///
    /// # Panics
    /// Where the store departs from the contract.
    pub async fn run(&self, store: &dyn Store) {
        (self.run)(store).await;
    }
}

/// Runs every case, each on a fresh store.
///
/// # Panics
/// Where a store departs from the contract.
pub async fn all<S: Store>(mut make: impl FnMut(&'static str) -> S) {
    for case in CASES {
        // A fresh store for each case: a row left by another one would make a failure depend on the order of the cases.
        case.run(&make(case.name)).await;
    }
}

macro_rules! cases {
    ($($module:ident: $($name:ident)+;)+) => {
        /// Every case.
        pub const CASES: &[Case] = &[$($(Case {
            name: stringify!($name),
            // |A table and no `#[test]` functions, since test attributes are not exported: each store's own crate runs the
            // cases.
            run: |store| Box::pin($module::$name(store)),
        },)+)+];
    };
}

cases! {
    events:
        an_event_is_stored_as_it_came
        a_second_delivery_is_a_duplicate_by_any_identity
        a_duplicate_stores_none_of_its_identities
        two_of_one_call_may_be_duplicates
        an_identity_counts_only_within_its_time
        moves_and_cursors_are_stored_together
        events_and_bookmarks_are_stored_together
        a_counterpart_makes_a_duplicate_and_is_not_stored
        unmatched_events_come_oldest_first
        an_event_is_matched_once
        what_is_admitted_is_leased_in_the_same_transaction
        matches_of_an_unknown_event_write_nothing;
    reports:
        one_happening_is_one_event_in_either_order
        a_move_that_is_made_again_later_is_one_event_again
        what_would_be_a_duplicate_is_known
        the_branch_of_a_pull_request_outlives_payloads
        a_report_names_the_branch_of_a_pull_request
        facts_of_all_reports_are_kept_and_matched;
    facts:
        what_is_wanted_is_due_at_once_the_longest_overdue_first
        a_failed_try_waits_for_its_time_and_a_final_one_for_nothing
        a_found_fact_wakes_once_and_is_stored_with_the_event
        a_found_fact_keeps_what_a_report_said_meanwhile
        only_a_wanted_fact_is_settled
        payloads_are_kept_while_a_fact_is_wanted;
    admission:
        a_trigger_makes_one_activation
        the_same_trigger_names_the_same_activation
        triggers_of_one_subject_join_what_is_pending
        a_leased_activation_is_not_joined
        a_separate_trigger_joins_nothing
        a_full_queue_refuses_and_records
        a_chain_ends_as_a_cancelled_activation
        a_chain_is_shortened_forgotten_and_begun_again;
    registry:
        a_new_daemon_begins_after_the_newest_event
        a_new_daemon_begins_after_what_was_received_by_then
        a_registration_keeps_gate_failures_and_age
        removal_and_invalidity_cancel_what_waits
        a_daemon_that_is_gone_is_remembered
        two_files_of_one_id_are_both_invalid
        one_repository_never_touches_another
        coverages_follow_schedules
        a_coverage_ends_with_its_schedule
        a_gate_is_set_only_for_a_registered_daemon
        the_host_gate_is_kept;
    claims:
        a_claim_leases_and_fences
        persons_come_first_then_daemons_in_turn
        rates_and_spending_hold_claims_back
        the_rate_of_a_subject_holds_events_about_it_back
        a_daemon_gets_its_oldest_first
        slots_limit_claims
        outputs_that_wait_block_a_subject_and_no_slot
        one_subject_runs_one_at_a_time
        gates_and_validity_stop_claims
        nothing_is_claimed_before_its_time
        one_activation_is_claimed_by_id
        a_claim_takes_the_registered_revision;
    history:
        a_history_of_concurrent_workers_keeps_the_promises_of_leases;
    readiness:
        claims_follow_the_rule_of_the_engine;
    attempts:
        every_write_needs_the_lease
        leases_are_renewed_or_reported_lost
        a_retryable_failure_waits_and_is_tried_again
        attempts_run_out
        a_stopping_host_gives_the_attempt_back
        what_is_missing_waits_uncounted_until_it_is_there
        usage_adds_up_over_attempts
        five_failures_trip_the_gate
        success_forgets_failures
        a_new_revision_or_a_person_opens_a_tripped_gate
        what_waits_too_long_expires
        a_cancelled_attempt_writes_nothing
        only_what_ended_badly_is_retried;
    crashes:
        an_earlier_epoch_is_reclaimed
        an_expired_lease_is_reclaimed
        three_faults_of_the_host_are_poison_and_trip_nothing
        a_crash_while_it_delivers_ends_the_row_of_crashes
        one_suspect_runs_at_a_time;
    runs:
        a_run_begins_once_and_is_updated
        the_end_of_a_run_is_stored_after_its_lease_too
        only_a_run_that_ended_is_forgotten;
    state:
        state_is_kept_with_the_end_of_an_attempt
        state_of_a_removed_daemon_is_forgotten_unless_it_returns
        state_that_does_not_fit_writes_nothing
        history_shows_the_newest_ends;
    ticks:
        a_tick_moves_the_cursor_and_makes_an_activation
        a_tick_is_committed_once
        a_key_without_a_registration_has_ticks_while_it_has_a_schedule
        an_ended_coverage_takes_no_ticks
        ticks_name_what_they_joined
        ticks_name_what_they_gave_way_to
        a_refused_tick_says_so
        unfinished_ticks_are_told_apart_from_events
        a_clock_step_back_retracts_what_made_nothing
        one_stale_commit_does_not_hinder_others;
    calendar:
        a_clock_step_divides_a_range_that_lies_across_it
        a_range_is_recorded_around_what_has_its_row
        a_range_whose_activation_was_claimed_ends_in_a_tick_of_its_own
        an_edit_or_removal_supersedes_what_is_unrecorded
        a_later_tick_may_cancel_what_runs
        a_fired_tick_has_its_row_and_keeps_the_one_it_has
        what_a_tick_tells_is_kept
        every_unfinished_tick_is_counted
        a_clock_step_back_holds_nothing_up;
    outbox:
        an_attempt_with_outputs_delivers
        only_a_good_end_keeps_outputs
        an_output_is_sent_from_planned_only
        the_last_settled_output_ends_the_activation
        an_output_that_gave_up_fails_the_activation
        what_was_being_sent_is_ambiguous_after_a_restart
        due_outputs_come_oldest_first
        due_outputs_of_one_surface_leave_room_for_others
        an_output_is_found_where_it_is_or_may_be
        an_output_is_found_by_the_revision_that_its_surface_returns
        a_cancelled_activation_sends_nothing_more
        a_retry_repeats_no_delivered_output
        a_clock_step_back_delays_no_output
        hastened_outputs_are_due_at_once;
    listings:
        pages_follow_each_other_without_gaps
        rows_that_arrive_between_pages_do_not_shift_them
        listings_filter
        a_listed_event_has_no_payload_and_no_facts
        a_forged_cursor_is_refused
        a_limit_out_of_range_is_refused
        an_unknown_state_is_refused;
    search:
        a_search_finds_ids_by_their_beginning_and_words_of_rows;
    hosting:
        the_epoch_rises
        starts_after_crashes_are_counted
        counts_name_every_state
        old_payloads_and_identities_are_forgotten
        a_probe_answers;
    roster:
        an_empty_roster_is_loaded
        rows_come_back_as_they_were_committed
        rows_of_what_ended_are_removed_and_those_of_agents_stay
        signals_come_back_as_they_were_committed
        a_reset_comes_back_at_every_step;
    roster_log:
        every_kind_of_answer_comes_back
        a_commit_after_another_one_changes_nothing
        audit_entries_are_listed_from_the_newest
        check_ins_are_listed_from_the_newest
        what_is_old_is_pruned_and_no_audit_entry_before_its_time;
    concurrency:
        concurrent_senders_store_each_event_once
        concurrent_claims_never_share_an_activation
        a_late_end_does_not_refuse_the_valid_one_of_the_same_moment
        a_stale_match_does_not_take_the_place_of_the_one_of_the_same_moment;
}
