//! Canonical text of an expression. Parsing it gives an equal expression.

use std::fmt;

use crate::{CronExpr, CronField};

impl fmt::Display for CronExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, field) in CronField::ALL.into_iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            print_field(f, field, self.mask(field), self.is_star(field))?;
        }
        Ok(())
    }
}

fn print_field(
    f: &mut fmt::Formatter<'_>,
    field: CronField,
    mask: u64,
    is_star: bool,
) -> fmt::Result {
    if is_star && mask == field.full() {
        return f.write_str("*");
    }
    if is_star {
        let step = star_step(field, mask);
        write!(f, "*/{step}")?;
        let rest = mask & !multiples(field, step);
        if rest != 0 {
            f.write_str(",")?;
            print_items(f, rest)?;
        }
        return Ok(());
    }
    // In the minute and the hour, `*/n` would turn a fixed-time expression into an interval. In the
    // other fields only a bare `*` has a meaning of its own, so `*/n` is safe there.
    if !matches!(field, CronField::Minute | CronField::Hour) {
        let step = star_step(field, mask);
        // A step above half the field matches at most two values, which are clearer as a list.
        if mask == multiples(field, step) && (2..=field.last() / 2).contains(&step) {
            return write!(f, "*/{step}");
        }
    }
    print_items(f, mask)
}

/// Returns the smallest step whose multiples are all in the mask, or a step so large that it
/// matches only the first value.
fn star_step(field: CronField, mask: u64) -> u32 {
    let size = field.last() - field.min() + 1;
    (1..size)
        .find(|step| multiples(field, *step) & !mask == 0)
        .unwrap_or(size)
}

pub(crate) fn multiples(field: CronField, step: u32) -> u64 {
    let step = usize::try_from(step).expect("steps are small");
    (field.min()..=field.last())
        .step_by(step)
        .fold(0, |acc, value| acc | 1 << value)
}

fn print_items(f: &mut fmt::Formatter<'_>, mask: u64) -> fmt::Result {
    let mut rest = mask;
    let mut separator = "";
    while rest != 0 {
        let run = leading_progression(rest);
        f.write_str(separator)?;
        match run.step {
            0 => write!(f, "{}", run.low)?,
            1 => write!(f, "{}-{}", run.low, run.high)?,
            step => write!(f, "{}-{}/{step}", run.low, run.high)?,
        }
        rest &= !run.mask;
        separator = ",";
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Progression {
    low: u32,
    high: u32,
    /// Zero for a single value.
    step: u32,
    mask: u64,
}

/// Returns the lowest value and the values that follow it at equal distances.
///
/// Three adjacent values or four at a larger distance form a range; fewer are clearer as a list.
fn leading_progression(mask: u64) -> Progression {
    let low = mask.trailing_zeros();
    let single = Progression {
        low,
        high: low,
        step: 0,
        mask: 1 << low,
    };
    let above = mask & !(1 << low);
    if above == 0 {
        return single;
    }
    let step = above.trailing_zeros() - low;
    let mut run = Progression { step, ..single };
    let mut n_values = 1;
    while run.high + step < 64 && mask >> (run.high + step) & 1 != 0 {
        run.high += step;
        run.mask |= 1 << run.high;
        n_values += 1;
    }
    let enough = if step == 1 { 3 } else { 4 };
    if n_values >= enough { run } else { single }
}
