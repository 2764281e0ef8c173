//! Compaction: a flag that a daemon clears once its context is compacted, or its successor has resumed.

use crate::answer::RosterAnswer;
use crate::authority::{OnHold, Permit};
use crate::id::RowId;
use crate::refusal::{ForbiddenRule, RosterRefusal};
use crate::row::RosterRow;
use crate::work::UnitOfWork;

impl UnitOfWork<'_> {
    pub(crate) fn request_compaction(&mut self, id: &RowId) -> Result<RosterAnswer, RosterRefusal> {
        let row = self.active(id)?;
        self.permit(&row, Permit::Itself, OnHold::NotOrchestrator)?;
        Ok(self.set_compaction(row, true))
    }

    pub(crate) fn compaction_done(
        &mut self,
        id: Option<&RowId>,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let caller = self.daemon()?;
        let row = self.active(id.unwrap_or(&caller.id))?;
        let is_successor = row.successor.as_ref() == Some(&caller.id)
            || caller.predecessor.as_ref() == Some(&row.id);
        if row.id != caller.id && !is_successor {
            return Err(ForbiddenRule::Role.into());
        }
        Ok(self.set_compaction(row, false))
    }

    /// Sets the flag; a repetition changes nothing.
    fn set_compaction(&mut self, mut row: RosterRow, is_needed: bool) -> RosterAnswer {
        if row.needs_compaction != is_needed {
            row.needs_compaction = is_needed;
            let change = if is_needed {
                (Some("clear"), "needed")
            } else {
                (Some("needed"), "clear")
            };
            self.audit("compaction", Some(row.id.clone()), change, "");
            self.put_row(row);
        }
        RosterAnswer::Compaction(is_needed)
    }
}
