-- Imports of the stores of homes. No host uses the tables while one has not ended.
CREATE TABLE import (
  id       TEXT PRIMARY KEY,               -- drawn by the importing program
  host     TEXT NOT NULL,                  -- the host of the home
  began_at BIGINT NOT NULL,
  ended_at BIGINT
);
-- How many rows of a table are copied, committed with the rows.
CREATE TABLE import_table (
  import TEXT NOT NULL,
  name   TEXT NOT NULL,
  copied BIGINT NOT NULL,
  digest TEXT,                             -- once all rows are compared
  PRIMARY KEY (import, name)
);
