-- The roster. `version` counts its commits: each names the one that it was decided after.
CREATE TABLE roster (version INTEGER NOT NULL);
INSERT INTO roster VALUES (0);

CREATE TABLE roster_row (
  id                   TEXT PRIMARY KEY,
  kind                 TEXT NOT NULL,
  project              TEXT,
  role                 TEXT,
  name                 TEXT NOT NULL,
  actor_ref            TEXT NOT NULL,
  harness              TEXT,
  incarnation          INTEGER NOT NULL,
  process              TEXT,
  session              TEXT,
  expected_at          INTEGER NOT NULL,
  first_checkin_at     INTEGER,
  last_checkin_at      INTEGER,
  activity_at          INTEGER,
  activity_incarnation INTEGER,
  gate                 TEXT NOT NULL,
  cadence              TEXT,
  context_tokens       INTEGER,
  context_limit        INTEGER,
  needs_compaction     INTEGER NOT NULL,
  winddown             TEXT NOT NULL,
  handoff_ref          TEXT,
  predecessor          TEXT,
  successor            TEXT,
  generation           INTEGER,
  trouble              TEXT,
  nonce                TEXT UNIQUE,
  handle               TEXT,
  process_state        TEXT,
  due_at               INTEGER,
  notified             TEXT,
  retired_at           INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX roster_row_actor ON roster_row (kind, coalesce(project, ''), actor_ref) WHERE retired_at IS NULL;

CREATE TABLE roster_signal (
  id           TEXT PRIMARY KEY,
  kind         TEXT NOT NULL,
  project      TEXT NOT NULL,
  target       TEXT,
  dedupe_key   TEXT,
  priority     INTEGER NOT NULL,
  payload      TEXT NOT NULL,
  reference    TEXT,
  status       TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  claimed_by   TEXT,
  token        TEXT,
  lease_until  INTEGER,
  attempts     INTEGER NOT NULL,
  result       TEXT,
  error        TEXT,
  ended_at     INTEGER
);
CREATE INDEX roster_signal_ended ON roster_signal (ended_at);

CREATE TABLE roster_baton (
  project    TEXT NOT NULL,
  role       TEXT NOT NULL,
  holder     TEXT,
  generation INTEGER NOT NULL,
  PRIMARY KEY (project, role)
) WITHOUT ROWID;
CREATE UNIQUE INDEX roster_baton_holder ON roster_baton (holder) WHERE holder IS NOT NULL;

CREATE TABLE roster_reset (
  id           TEXT PRIMARY KEY,
  project      TEXT NOT NULL,
  role         TEXT NOT NULL,
  predecessor  TEXT NOT NULL,
  successor    TEXT,
  state        TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  reason       TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  spawned_at   INTEGER,
  ready_at     INTEGER,
  ended_at     INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX roster_reset_open ON roster_reset (project, role) WHERE ended_at IS NULL;

CREATE TABLE roster_plan (
  id         TEXT PRIMARY KEY,
  project    TEXT NOT NULL,
  role       TEXT NOT NULL,
  harness    TEXT NOT NULL,
  wanted     TEXT,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL,
  packet     BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  row        TEXT
) WITHOUT ROWID;
CREATE TABLE roster_plan_check (
  plan    TEXT NOT NULL,
  place   INTEGER NOT NULL,
  name    TEXT NOT NULL,
  outcome TEXT NOT NULL,
  PRIMARY KEY (plan, place)
) WITHOUT ROWID;

-- Tokens by their hash only.
CREATE TABLE roster_credential (
  hash        BLOB PRIMARY KEY,
  row         TEXT NOT NULL,
  incarnation INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE roster_checkin (
  number         INTEGER PRIMARY KEY,
  row            TEXT NOT NULL,
  incarnation    INTEGER NOT NULL,
  at             INTEGER NOT NULL,
  wake           TEXT NOT NULL,
  cadence        TEXT,
  context_tokens INTEGER
);
CREATE INDEX roster_checkin_row ON roster_checkin (row, number);
CREATE INDEX roster_checkin_at ON roster_checkin (at);

-- AUTOINCREMENT, so that a number is not used again after old entries are removed.
CREATE TABLE roster_audit (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  actor      TEXT NOT NULL,
  kind       TEXT NOT NULL,
  row        TEXT,
  from_state TEXT,
  to_state   TEXT,
  rule       TEXT,
  reason     TEXT NOT NULL,
  request    TEXT,
  count      INTEGER NOT NULL
);
CREATE INDEX roster_audit_row ON roster_audit (row, number);
CREATE INDEX roster_audit_at ON roster_audit (at);

CREATE TRIGGER roster_audit_is_not_changed BEFORE UPDATE ON roster_audit BEGIN
  SELECT RAISE(ABORT, 'an audit entry is never changed');
END;
-- 400 days before the newest entry, and not before now: a trigger that reads the clock would obey one in the future.
CREATE TRIGGER roster_audit_is_kept BEFORE DELETE ON roster_audit
WHEN old.at >= (SELECT max(at) FROM roster_audit) - 34560000000000 BEGIN
  SELECT RAISE(ABORT, 'an audit entry is kept for 400 days');
END;
