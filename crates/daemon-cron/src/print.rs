//! Masks back to text. What is printed reads back as an equal expression.

use std::fmt;

use crate::{CronExpr, Field};

impl fmt::Display for CronExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, field) in Field::ALL.into_iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            print_field(f, field, self.mask(field), self.is_star(field))?;
        }
        Ok(())
    }
}

fn print_field(f: &mut fmt::Formatter<'_>, field: Field, mask: u64, is_star: bool) -> fmt::Result {
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
    // A star changes the meaning of minute and hour, and of the days only when it stands alone.
    if !matches!(field, Field::Minute | Field::Hour) {
        let step = star_step(field, mask);
        if mask == multiples(field, step) && (2..=field.last() / 2).contains(&step) {
            return write!(f, "*/{step}");
        }
    }
    print_items(f, mask)
}

/// Finds the smallest step whose multiples all are in the mask, or one that leaves the first
/// value alone.
fn star_step(field: Field, mask: u64) -> u32 {
    let size = field.last() - field.min() + 1;
    (1..size)
        .find(|step| multiples(field, *step) & !mask == 0)
        .unwrap_or(size)
}

pub(crate) fn multiples(field: Field, step: u32) -> u64 {
    let step = usize::try_from(step).expect("steps are small");
    (field.min()..=field.last())
        .step_by(step)
        .fold(0, |acc, value| acc | 1 << value)
}

fn print_items(f: &mut fmt::Formatter<'_>, mask: u64) -> fmt::Result {
    let mut rest = mask;
    let mut separator = "";
    while rest != 0 {
        let run = leading_run(rest);
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

struct Run {
    low: u32,
    high: u32,
    step: u32,
    mask: u64,
}

/// Takes the lowest value with what follows it evenly: three neighbours or four evenly spaced
/// values make a range; fewer are clearer in a list.
fn leading_run(mask: u64) -> Run {
    let low = mask.trailing_zeros();
    let alone = Run {
        low,
        high: low,
        step: 0,
        mask: 1 << low,
    };
    let above = mask & !(1 << low);
    if above == 0 {
        return alone;
    }
    let step = above.trailing_zeros() - low;
    let mut run = Run { step, ..alone };
    let mut n_values = 1;
    while run.high + step < 64 && mask >> (run.high + step) & 1 != 0 {
        run.high += step;
        run.mask |= 1 << run.high;
        n_values += 1;
    }
    let enough = if step == 1 { 3 } else { 4 };
    if n_values >= enough {
        run
    } else {
        Run {
            low,
            high: low,
            step: 0,
            mask: 1 << low,
        }
    }
}
