-- What other sources reported of a happening that is stored as an event.
CREATE TABLE report (
  number      INTEGER PRIMARY KEY,
  seq         INTEGER NOT NULL REFERENCES event,
  source      TEXT NOT NULL,
  kind        TEXT NOT NULL,
  action      TEXT,
  subject     TEXT,
  actor       TEXT,
  actor_kind  TEXT,
  repo        TEXT,
  happened_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  delivery    TEXT NOT NULL,
  facts       TEXT NOT NULL,
  body        BLOB NOT NULL
);
CREATE INDEX report_of_event ON report (seq, source, kind);
