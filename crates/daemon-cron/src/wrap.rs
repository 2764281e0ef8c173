//! Values that go round: the second spelling of Sunday, and ranges that descend.

use crate::Field;

/// Maps the day of the week 7 to 0; every other value is itself.
pub(crate) const fn distinct(field: Field, value: u32) -> u32 {
    match (field, value) {
        (Field::DayOfWeek, 7) => 0,
        _ => value,
    }
}

/// Spells the range the author of `low-high/step` meant, with `low > high`, in ascending items.
pub(crate) fn ascending(field: Field, low: u32, high: u32, step: u32) -> String {
    if step > 1 {
        return stepped_round(field, low, high, step);
    }
    match (field, low, high) {
        (Field::DayOfWeek, 7, _) => range(0, high),
        (Field::DayOfWeek, _, 0) => range(low, 7),
        _ => format!("{},{}", range(low, field.last()), range(field.min(), high)),
    }
}

fn stepped_round(field: Field, low: u32, high: u32, step: u32) -> String {
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
