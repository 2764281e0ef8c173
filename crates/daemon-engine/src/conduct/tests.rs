use super::Conduct;
use crate::activation::ActivationState;
use crate::attempt::Gate;

fn conduct(gate: Gate, failures: u32) -> Conduct {
    Conduct { gate, failures }
}

#[test]
fn five_bad_ends_in_a_row_trip_an_open_gate() {
    use ActivationState::{Cancelled, Dead, Delivering, Failed, Succeeded};
    let table: [(Conduct, &[ActivationState], Conduct); 6] = [
        (
            Conduct::NEW,
            &[Failed, Dead, Failed, Dead],
            conduct(Gate::Open, 4),
        ),
        (
            Conduct::NEW,
            &[Failed, Dead, Failed, Dead, Failed],
            conduct(Gate::Tripped, 5),
        ),
        (
            Conduct::NEW,
            &[Failed, Failed, Failed, Failed, Succeeded, Failed],
            conduct(Gate::Open, 1),
        ),
        (
            Conduct::NEW,
            &[Failed, Failed, Cancelled, Delivering, Failed, Failed],
            conduct(Gate::Open, 4),
        ),
        (conduct(Gate::Held, 4), &[Failed], conduct(Gate::Held, 5)),
        (
            conduct(Gate::Tripped, 5),
            &[Succeeded],
            conduct(Gate::Tripped, 0),
        ),
    ];
    for (before, ends, expected) in table {
        let after = ends.iter().fold(before, |conduct, end| conduct.after(*end));
        assert_eq!(after, expected, "{before:?} {ends:?}");
    }
}

#[test]
fn a_person_opens_any_gate_and_an_edit_a_tripped_one() {
    for gate in [Gate::Open, Gate::Held, Gate::Tripped] {
        let before = conduct(gate, 5);
        assert_eq!(before.with_gate(Gate::Open), Conduct::NEW);
        assert_eq!(before.with_gate(Gate::Held), conduct(Gate::Held, 5));
    }
    assert_eq!(conduct(Gate::Tripped, 5).after_edit(), Conduct::NEW);
    assert_eq!(conduct(Gate::Held, 3).after_edit(), conduct(Gate::Held, 3));
    assert_eq!(conduct(Gate::Open, 3).after_edit(), conduct(Gate::Open, 3));
}
