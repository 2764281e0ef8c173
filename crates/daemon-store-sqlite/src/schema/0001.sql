-- Instants are microseconds since 1970, UTC. States are the words of DELIVERY and SCHEDULE.

CREATE TABLE host (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  epoch   INTEGER NOT NULL,
  gate    TEXT NOT NULL,
  turns   INTEGER NOT NULL,          -- the last turn that was given to a lane
  probes  INTEGER NOT NULL,
  -- 0 only while the file itself waits for its write-ahead log, see `log.rs`.
  merged  INTEGER NOT NULL
);
INSERT INTO host VALUES (1, 0, 'open', 0, 0, 1);

-- How many activations and outputs are in each state, kept by triggers.
CREATE TABLE tally (
  kind  TEXT NOT NULL,
  state TEXT NOT NULL,
  n     INTEGER NOT NULL,
  PRIMARY KEY (kind, state)
) WITHOUT ROWID;

CREATE TABLE event (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  source      TEXT NOT NULL,
  kind        TEXT NOT NULL,
  action      TEXT,
  subject     TEXT,
  actor       TEXT,
  actor_kind  TEXT,
  repo        TEXT,
  repo_folded TEXT,
  happened_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  delivery    TEXT NOT NULL,
  duplicates  INTEGER NOT NULL DEFAULT 0,
  due         INTEGER NOT NULL
);
CREATE INDEX event_due ON event (seq) WHERE due = 1;

-- Apart from the event, so that marking an event does not rewrite its body.
CREATE TABLE payload (
  seq   INTEGER PRIMARY KEY REFERENCES event,
  facts TEXT NOT NULL,
  body  BLOB NOT NULL
);

CREATE TABLE identity (
  key       TEXT PRIMARY KEY,
  seq       INTEGER NOT NULL REFERENCES event,
  stored_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE ref_cursor (
  repo      TEXT NOT NULL,
  name      TEXT NOT NULL,
  commit_id TEXT,
  moves     INTEGER NOT NULL,
  PRIMARY KEY (repo, name)
) WITHOUT ROWID;

-- One per daemon ever seen, registered or not: what a claim must know without looking at activations.
CREATE TABLE lane (
  id      INTEGER PRIMARY KEY,
  repo    TEXT NOT NULL,
  daemon  TEXT NOT NULL,
  ready   INTEGER NOT NULL DEFAULT 0, -- registered, valid, and its gate open
  turn    INTEGER,                    -- the place among those that wait, once it was woken
  pending INTEGER NOT NULL DEFAULT 0,
  persons INTEGER NOT NULL DEFAULT 0, -- pending ones that a person asked for
  busy    INTEGER NOT NULL DEFAULT 0, -- leased or delivering
  UNIQUE (repo, daemon)
);
CREATE INDEX lane_daemon ON lane (daemon);
CREATE INDEX lane_pending ON lane (turn) WHERE ready = 1 AND pending > 0;
CREATE INDEX lane_persons ON lane (turn) WHERE ready = 1 AND persons > 0;

CREATE TABLE daemon (
  repo          TEXT NOT NULL,
  daemon        TEXT NOT NULL,
  path          TEXT NOT NULL,
  rev           TEXT NOT NULL,
  commit_id     TEXT NOT NULL,
  purpose       TEXT NOT NULL,
  valid         INTEGER NOT NULL,
  diagnostics   TEXT NOT NULL,
  definition    TEXT NOT NULL,
  watch         INTEGER NOT NULL,
  scheduled     INTEGER NOT NULL,
  expression    TEXT,
  zone          TEXT,
  gate          TEXT NOT NULL,
  failures      INTEGER NOT NULL,
  since_seq     INTEGER NOT NULL,
  registered_at INTEGER NOT NULL,
  PRIMARY KEY (repo, daemon, path)
);

CREATE TABLE coverage (
  lane       INTEGER NOT NULL REFERENCES lane,
  number     INTEGER NOT NULL,
  expression TEXT NOT NULL,
  zone       TEXT NOT NULL,
  cursor     INTEGER NOT NULL,
  is_open    INTEGER NOT NULL,
  PRIMARY KEY (lane, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX coverage_open ON coverage (lane) WHERE is_open = 1;

CREATE TABLE tick (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  lane         INTEGER NOT NULL REFERENCES lane,
  first        INTEGER NOT NULL,
  scheduled_at INTEGER NOT NULL,
  count        INTEGER NOT NULL,
  outcome      TEXT NOT NULL,
  activation   INTEGER REFERENCES activation,
  recorded_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX tick_once ON tick (lane, scheduled_at) WHERE outcome <> 'retracted';
CREATE INDEX tick_listed ON tick (scheduled_at, number);
CREATE INDEX tick_of_lane ON tick (lane, scheduled_at, number);
CREATE INDEX tick_first ON tick (first);

CREATE TABLE activation (
  number       INTEGER PRIMARY KEY,
  id           TEXT NOT NULL UNIQUE,
  lane         INTEGER NOT NULL REFERENCES lane,
  rev          TEXT NOT NULL,
  subject      TEXT,
  state        TEXT NOT NULL,
  reason       TEXT,
  attempts     INTEGER NOT NULL,
  host_crashes INTEGER NOT NULL,
  run_lease    INTEGER NOT NULL,
  owner        INTEGER,
  lease_until  INTEGER,
  not_before   INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  started_at   INTEGER,
  finished_at  INTEGER,
  tokens       INTEGER,
  cost_usd     REAL,
  summary      TEXT,
  has_person   INTEGER NOT NULL,
  has_tick     INTEGER NOT NULL
);
CREATE INDEX activation_listed ON activation (created_at, number);
CREATE INDEX activation_of_lane ON activation (lane, created_at, number);
CREATE INDEX activation_in_state ON activation (state, created_at, number);
CREATE INDEX activation_queue ON activation (lane, has_person, number) WHERE state = 'pending';
CREATE INDEX activation_about ON activation (lane, subject, number) WHERE state = 'pending';
CREATE INDEX activation_wait ON activation (not_before) WHERE state = 'pending';
CREATE INDEX activation_lane_wait ON activation (lane, not_before) WHERE state = 'pending';
CREATE INDEX activation_busy ON activation (lane, subject) WHERE state IN ('claimed', 'running', 'delivering');
CREATE INDEX activation_began ON activation (started_at) WHERE started_at IS NOT NULL;
CREATE INDEX activation_began_of ON activation (lane, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX activation_ended ON activation (lane, finished_at, number) WHERE finished_at IS NOT NULL;
CREATE INDEX activation_ticking ON activation (lane, number) WHERE has_tick = 1 AND finished_at IS NULL;

CREATE TRIGGER activation_made AFTER INSERT ON activation BEGIN
  INSERT INTO tally VALUES ('activation', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE lane SET
    pending = pending + (new.state = 'pending'),
    persons = persons + (new.state = 'pending' AND new.has_person),
    busy = busy + (new.state IN ('claimed', 'running', 'delivering'))
  WHERE id = new.lane;
END;
CREATE TRIGGER activation_changed AFTER UPDATE OF state, has_person ON activation
WHEN old.state <> new.state OR old.has_person <> new.has_person BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = 'activation' AND state = old.state;
  INSERT INTO tally VALUES ('activation', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE lane SET
    pending = pending + (new.state = 'pending') - (old.state = 'pending'),
    persons = persons + (new.state = 'pending' AND new.has_person) - (old.state = 'pending' AND old.has_person),
    busy = busy + (new.state IN ('claimed', 'running', 'delivering')) - (old.state IN ('claimed', 'running', 'delivering'))
  WHERE id = new.lane;
END;

-- `trigger` is a word of SQL.
CREATE TABLE wake (
  number      INTEGER PRIMARY KEY,
  key         TEXT NOT NULL,
  lane        INTEGER NOT NULL REFERENCES lane,
  conditions  TEXT NOT NULL,
  asked_by    TEXT,
  recorded_at INTEGER NOT NULL,
  activation  INTEGER REFERENCES activation,
  place       INTEGER NOT NULL,        -- among the triggers of its activation
  UNIQUE (key, lane)
);
CREATE INDEX wake_of_activation ON wake (activation, place);

CREATE TABLE run (
  number      INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  activation  INTEGER REFERENCES activation,
  lane        INTEGER REFERENCES lane,
  attempt     INTEGER NOT NULL,
  provider    TEXT NOT NULL,
  state       TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  finished_at INTEGER,
  object      TEXT NOT NULL
);
CREATE INDEX run_listed ON run (started_at, number);
CREATE INDEX run_in_state ON run (state, started_at, number);
CREATE INDEX run_of_lane ON run (lane, started_at, number);
CREATE INDEX run_of_activation ON run (activation, number);

CREATE TABLE output (
  number       INTEGER PRIMARY KEY,
  key          TEXT NOT NULL UNIQUE,
  activation   INTEGER NOT NULL REFERENCES activation,
  lane         INTEGER NOT NULL REFERENCES lane,
  ordinal      INTEGER NOT NULL,
  surface      TEXT NOT NULL,
  target       TEXT NOT NULL,
  content      TEXT NOT NULL,
  state        TEXT NOT NULL,
  remote_id    TEXT,
  url          TEXT,
  attempts     INTEGER NOT NULL,
  not_before   INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  delivered_at INTEGER,
  error        TEXT
);
CREATE INDEX output_listed ON output (created_at, number);
CREATE INDEX output_in_state ON output (state, created_at, number);
CREATE INDEX output_of_lane ON output (lane, created_at, number);
CREATE INDEX output_of_activation ON output (activation, ordinal);
CREATE INDEX output_waiting ON output (not_before) WHERE state IN ('planned', 'ambiguous');
CREATE INDEX output_remote ON output (surface, remote_id) WHERE remote_id IS NOT NULL;
CREATE INDEX output_delivered ON output (lane, delivered_at) WHERE state = 'confirmed';

CREATE TRIGGER output_made AFTER INSERT ON output BEGIN
  INSERT INTO tally VALUES ('output', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER output_changed AFTER UPDATE OF state ON output WHEN old.state <> new.state BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = 'output' AND state = old.state;
  INSERT INTO tally VALUES ('output', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TABLE memory (
  lane INTEGER NOT NULL REFERENCES lane,
  key  TEXT NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (lane, key)
) WITHOUT ROWID;
