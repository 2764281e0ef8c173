//! Webhook bytes in, verified events out.
