//! Values that wrap around: 7 as Sunday, and the ascending form of descending ranges.

use crate::CronField;

/// Maps the day of the week 7 to 0 and returns every other value unchanged.
pub(crate) const fn distinct(field: CronField, value: u32) -> u32 {
    match (field, value) {
        (CronField::DayOfWeek, 7) => 0,
        _ => value,
    }
}

/// Writes the descending range `low-high/step` as ascending items with the same values.
pub(crate) fn ascending(field: CronField, low: u32, high: u32, step: u32) -> String {
    if step > 1 {
        return stepped_round(field, low, high, step);
    }
    match (field, low, high) {
        (CronField::DayOfWeek, 7, _) => range(0, high),
        (CronField::DayOfWeek, _, 0) => range(low, 7),
        _ => format!("{},{}", range(low, field.last()), range(field.min(), high)),
    }
}

// After the wrap a step can continue at any value, which no range with a step expresses. The values
// are listed instead.
fn stepped_round(field: CronField, low: u32, high: u32, step: u32) -> String {
    let size = field.last() - field.min() + 1;
    let mut values: Vec<u32> = (low..=high + size)
        .step_by(usize::try_from(step).expect("a step has at most four digits"))
        .map(|value| field.min() + (value - field.min()) % size)
        .collect();
    values.sort_unstable();
    values.dedup();
    values
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

fn range(low: u32, high: u32) -> String {
    if low == high {
        low.to_string()
    } else {
        format!("{low}-{high}")
    }
}
