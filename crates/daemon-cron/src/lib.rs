//! Five-field cron expressions: parse, print, describe, next occurrence in a zone.
