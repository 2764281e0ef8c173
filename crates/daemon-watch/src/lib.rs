//! Natural-language watch conditions: interpret, explain, match.
