//! The faults of a fake service.

use daemon_fakes::{Applied, FakeServer, FaultPlan, ServiceFault};

/// Every fault under which an output must still arrive once.
pub(super) fn faults() -> Vec<ServiceFault> {
    let mut acc = vec![
        ServiceFault::None,
        ServiceFault::LostReply,
        ServiceFault::Closed,
        ServiceFault::Truncated,
        ServiceFault::Cut,
        ServiceFault::RateLimited(60, Applied::No),
        ServiceFault::Status(429, Applied::No),
    ];
    for applied in [Applied::Yes, Applied::No] {
        acc.push(ServiceFault::Status(502, applied));
        acc.push(ServiceFault::Status(503, applied));
        acc.push(ServiceFault::Html(502, applied));
        acc.push(ServiceFault::Html(200, applied));
    }
    acc
}

/// Makes the request of this number from now on fail once; the first has the number 1.
pub(super) fn fail_nth(server: &FakeServer, nth: usize, fault: ServiceFault) {
    let mut left = nth;
    server.set_faults(FaultPlan::new(move |_, _, _| {
        left = left.saturating_sub(1);
        match left {
            0 if !matches!(fault, ServiceFault::None) => {
                left = usize::MAX;
                fault.clone()
            }
            _ => ServiceFault::None,
        }
    }));
}
