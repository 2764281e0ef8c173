//! A sans-IO scheduler over any key: due ticks, misfire, overlap, jitter.
