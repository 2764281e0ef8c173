//! Rules with stable codes over a parsed daemon file.
