//! Reads DAEMON.md files losslessly: source, spans, typed fields, diagnostics, JSON Schema.
