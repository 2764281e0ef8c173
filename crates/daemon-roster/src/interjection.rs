//! Lines for daemons: interjections, which are delivered at once and not stored, and pokes, which are signals.

use jiff::SignedDuration;

use crate::answer::{RosterAnswer, RosterEffect};
use crate::authority::{OnHold, Permit};
use crate::command::{Interjection, InterjectionTarget, NewSignal};
use crate::id::RowId;
use crate::refusal::{Blocker, ForbiddenRule, InvalidParams, RosterRefusal};
use crate::row::{Role, RosterRow, WakeReason};
use crate::signal::SignalKind;
use crate::work::UnitOfWork;

const MAX_CHARACTERS: usize = 240;
const DEFAULT_DELAY_MS: i64 = 1_000;
const MAX_DELAY_MS: i64 = 60_000;

impl UnitOfWork<'_> {
    pub(crate) fn interject(&mut self, it: Interjection) -> Result<RosterAnswer, RosterRefusal> {
        check_line(&it.line)?;
        let delay = it.delay_ms.unwrap_or(DEFAULT_DELAY_MS);
        if !(1..=MAX_DELAY_MS).contains(&delay) {
            return Err(out_of_range("delay_ms", delay, "from 1 to 60000"));
        }
        let caller = self.caller()?;
        let target = self.interjection_target(it.target, caller.as_ref())?;
        if caller.is_some_and(|caller| caller.project != target.project) {
            return Err(ForbiddenRule::OtherProject.into());
        }
        if !self.is_live(&target) {
            return Err(self.not_live(&target).into());
        }
        let at = self.after(SignedDuration::from_millis(delay));
        self.effect(RosterEffect::Say {
            row: target.id,
            line: it.line,
            at,
        });
        Ok(RosterAnswer::At(at))
    }

    fn interjection_target(
        &self,
        target: InterjectionTarget,
        caller: Option<&RosterRow>,
    ) -> Result<RosterRow, RosterRefusal> {
        let project = match target {
            InterjectionTarget::Row(row) => return self.active(&row),
            InterjectionTarget::Orchestrator(project) => project,
        };
        let own = caller.and_then(|caller| caller.project.clone());
        let project = project.or(own).ok_or(InvalidParams::Missing("project"))?;
        let holder = self.baton(&project, &Role::Orchestrator).holder;
        self.active(&holder.ok_or(Blocker::NoHolder)?)
    }

    pub(crate) fn not_live(&self, row: &RosterRow) -> Blocker {
        Blocker::NotLive {
            row: row.id.clone(),
            liveness: self.liveness(row).state,
        }
    }

    pub(crate) fn poke(&mut self, id: &RowId, line: String) -> Result<RosterAnswer, RosterRefusal> {
        check_line(&line)?;
        let row = self.active(id)?;
        self.permit(&row, Permit::Orchestrator, OnHold::NotOrchestrator)?;
        self.wake(&row, WakeReason::Poke);
        self.enqueue(NewSignal {
            kind: SignalKind::Poke,
            project: row.project,
            target: Some(row.id),
            // Equal pokes are those with one line.
            dedupe_key: Some(line.parse().map_err(InvalidParams::from)?),
            priority: NewSignal::DEFAULT_PRIORITY,
            payload: line,
            reference: None,
        })
    }
}

fn check_line(line: &str) -> Result<(), RosterRefusal> {
    // The separators of Unicode break a line in some terminals, as control characters do.
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if line.contains(breaks) {
        return Err(InvalidParams::NotOneLine("line").into());
    }
    let n_characters = line.chars().count();
    if line.trim().is_empty() || n_characters > MAX_CHARACTERS {
        let value = i64::try_from(n_characters).unwrap_or(i64::MAX);
        return Err(out_of_range("line", value, "from 1 to 240 characters"));
    }
    Ok(())
}

fn out_of_range(name: &'static str, value: i64, expected: &'static str) -> RosterRefusal {
    let range = InvalidParams::Range {
        name,
        value,
        expected,
    };
    range.into()
}
