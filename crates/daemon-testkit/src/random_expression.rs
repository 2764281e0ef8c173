//! Random cron expressions, usual and unusual ones.

use crate::dice::Dice;

/// One field: its bounds and its names, of which the first has the value `first_name`.
struct Field {
    min: i64,
    max: i64,
    names: &'static [&'static str],
    first_name: i64,
}

const FIELDS: [Field; 5] = [
    field(0, 59, &[], 0),
    field(0, 23, &[], 0),
    field(1, 31, &[], 0),
    field(
        1,
        12,
        &[
            "JAN", "Feb", "mar", "APR", "may", "Jun", "JUL", "aug", "sep", "OCT", "Nov", "DEC",
        ],
        1,
    ),
    field(0, 7, &["SUN", "Mon", "tue", "WED", "thu", "FRI", "sat"], 0),
];

const fn field(min: i64, max: i64, names: &'static [&'static str], first_name: i64) -> Field {
    Field {
        min,
        max,
        names,
        first_name,
    }
}

/// Draws an expression.
pub(crate) fn expression(dice: &mut Dice) -> String {
    let fields: Vec<String> = FIELDS.iter().map(|field| field_text(field, dice)).collect();
    fields.join(" ")
}

fn field_text(field: &Field, dice: &mut Dice) -> String {
    if dice.once_in(2) {
        return if dice.once_in(8) {
            format!("*/{}", dice.between(1, field.max + 3))
        } else {
            "*".to_owned()
        };
    }
    let n_items = 1 + dice.below(3);
    let items: Vec<String> = (0..n_items).map(|_| item_text(field, dice)).collect();
    items.join(",")
}

fn item_text(field: &Field, dice: &mut Dice) -> String {
    let low = dice.between(field.min, field.max);
    let high = dice.between(low, field.max);
    match dice.below(6) {
        0 | 1 => format!("{}-{}", value(field, low, dice), value(field, high, dice)),
        2 => format!("{low}-{high}/{}", dice.between(1, field.max + 3)),
        3 if dice.once_in(6) => format!("*/{}", dice.between(1, field.max)),
        _ => value(field, low, dice),
    }
}

fn value(field: &Field, value: i64, dice: &mut Dice) -> String {
    let name = usize::try_from(value - field.first_name)
        .ok()
        .and_then(|place| field.names.get(place));
    match name {
        Some(name) if dice.once_in(3) => (*name).to_owned(),
        _ if dice.once_in(10) => format!("{value:02}"),
        _ => value.to_string(),
    }
}
