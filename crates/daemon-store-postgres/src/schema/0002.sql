-- The answers to requests with an id, by which a repetition is recognised, also after a restart. `of_row` is empty for the operator.
CREATE TABLE roster_reply (
  of_row  TEXT NOT NULL,
  request TEXT NOT NULL,
  params  BYTEA NOT NULL,
  answer  TEXT NOT NULL,
  at      BIGINT NOT NULL,
  PRIMARY KEY (of_row, request)
);
CREATE INDEX roster_reply_at ON roster_reply (at);
