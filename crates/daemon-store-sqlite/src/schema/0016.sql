-- The answers to requests with an id, by which a repetition is recognised, also after a restart. `row` is empty for the operator.
CREATE TABLE roster_reply (
  row     TEXT NOT NULL,
  request TEXT NOT NULL,
  params  BLOB NOT NULL,
  answer  TEXT NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (row, request)
) WITHOUT ROWID;
CREATE INDEX roster_reply_at ON roster_reply (at);
