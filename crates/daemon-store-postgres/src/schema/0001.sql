-- Instants are microseconds since 1970, UTC. States are the words of DELIVERY and SCHEDULE. Tables of a repository have it in
-- every key, so that they can be distributed by it; an empty text is "none" where a key needs a value.

-- One row for each connection of a store: the number of its last transaction.
CREATE TABLE commit_mark (
  connection TEXT PRIMARY KEY,
  n          BIGINT NOT NULL,
  at         BIGINT NOT NULL
);

-- Numbers without gaps: the row stays locked until the transaction that took one has ended.
CREATE TABLE counter (
  name TEXT PRIMARY KEY,
  n    BIGINT NOT NULL
);
INSERT INTO counter VALUES ('event', 0), ('epoch', 0), ('roster', 0);

CREATE TABLE host (
  name   TEXT PRIMARY KEY,
  epoch  BIGINT NOT NULL,
  gate   TEXT NOT NULL,
  probes BIGINT NOT NULL
);
-- How each host process began: how the one before it on that host ended, and how many runs that one had left under way.
CREATE TABLE host_start (
  epoch   BIGINT PRIMARY KEY,
  host    TEXT NOT NULL,
  at      BIGINT NOT NULL,
  after   TEXT NOT NULL,
  present BIGINT NOT NULL
);
CREATE INDEX host_start_of ON host_start (host, epoch);

-- An event, what it said, and what others said of it are kept by when the event was received.
CREATE TABLE event (
  repo        TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  seq         BIGINT NOT NULL,
  id          TEXT NOT NULL,
  source      TEXT NOT NULL,
  kind        TEXT NOT NULL,
  action      TEXT,
  subject     TEXT,
  actor       TEXT,
  actor_kind  TEXT,
  repo_folded TEXT,
  happened_at BIGINT NOT NULL,
  delivery    TEXT NOT NULL,
  duplicates  BIGINT NOT NULL DEFAULT 0,
  n_reports   BIGINT NOT NULL DEFAULT 0,
  due         BOOLEAN NOT NULL,
  PRIMARY KEY (repo, received_at, seq)
) PARTITION BY RANGE (received_at);
CREATE INDEX event_id ON event (id);
CREATE INDEX event_seq ON event (seq);
CREATE INDEX event_due ON event (seq) WHERE due;
CREATE TABLE event_other PARTITION OF event DEFAULT;

-- Apart from the event, so that marking an event does not rewrite its body.
CREATE TABLE payload (
  repo        TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  seq         BIGINT NOT NULL,
  facts       TEXT NOT NULL,
  body        BYTEA NOT NULL,
  PRIMARY KEY (repo, received_at, seq)
) PARTITION BY RANGE (received_at);
CREATE TABLE payload_other PARTITION OF payload DEFAULT;

CREATE SEQUENCE report_number;
-- `received_at` is that of the event; the report's own is `reported_at`.
CREATE TABLE report (
  repo        TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  seq         BIGINT NOT NULL,
  number      BIGINT NOT NULL DEFAULT nextval('report_number'),
  source      TEXT NOT NULL,
  kind        TEXT NOT NULL,
  action      TEXT,
  subject     TEXT,
  actor       TEXT,
  actor_kind  TEXT,
  own_repo    TEXT,
  happened_at BIGINT NOT NULL,
  reported_at BIGINT NOT NULL,
  delivery    TEXT NOT NULL,
  facts       TEXT NOT NULL,
  body        BYTEA NOT NULL,
  PRIMARY KEY (repo, received_at, seq, number)
) PARTITION BY RANGE (received_at);
CREATE TABLE report_other PARTITION OF report DEFAULT;

-- Delivery ids and hashes of bodies. They are not kept by time: a key is unique over all of them.
CREATE TABLE identity (
  key         TEXT PRIMARY KEY,
  repo        TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  seq         BIGINT NOT NULL,
  stored_at   BIGINT NOT NULL
);
CREATE INDEX identity_stored ON identity (stored_at);

CREATE TABLE ref_cursor (
  repo      TEXT NOT NULL,
  name      TEXT NOT NULL,
  commit_id TEXT,
  moves     BIGINT NOT NULL,
  PRIMARY KEY (repo, name)
);
CREATE TABLE bookmark (
  name TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  at   BIGINT NOT NULL
);
-- The branch of its own repository that each pull request comes from, NULL for one of a fork.
CREATE TABLE pull_request (
  subject TEXT PRIMARY KEY,
  head    TEXT
);

-- Facts that payloads lack and conditions need.
CREATE TABLE wanted (
  repo        TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  seq         BIGINT NOT NULL,
  need        TEXT NOT NULL,
  state       TEXT NOT NULL,
  tries       BIGINT NOT NULL,
  asked_at    BIGINT NOT NULL,
  not_before  BIGINT NOT NULL,
  origin      TEXT,
  note        TEXT,
  PRIMARY KEY (repo, seq, need)
);
CREATE INDEX wanted_waiting ON wanted (not_before) WHERE state = 'waiting';

-- One per daemon ever seen. A transaction that changes an activation of a daemon locks this row first.
CREATE SEQUENCE lane_turn;
CREATE TABLE lane (
  repo    TEXT NOT NULL,
  daemon  TEXT NOT NULL,
  ready   BOOLEAN NOT NULL DEFAULT false, -- registered, valid, and its gate open
  turn    BIGINT,                         -- the place among those that wait, once it was woken
  pending BIGINT NOT NULL DEFAULT 0,
  persons BIGINT NOT NULL DEFAULT 0,      -- pending ones that a person asked for
  busy    BIGINT NOT NULL DEFAULT 0,      -- leased or delivering: what blocks a subject
  leased  BIGINT NOT NULL DEFAULT 0,      -- what occupies a slot
  PRIMARY KEY (repo, daemon)
);
CREATE INDEX lane_daemon ON lane (daemon);
CREATE INDEX lane_pending ON lane (turn) WHERE ready AND pending > 0;
CREATE INDEX lane_persons ON lane (turn) WHERE ready AND persons > 0;
CREATE INDEX lane_waiting ON lane (pending) WHERE pending > 0;

CREATE TABLE daemon (
  repo          TEXT NOT NULL,
  daemon        TEXT NOT NULL,
  path          TEXT NOT NULL,
  rev           TEXT NOT NULL,
  commit_id     TEXT NOT NULL,
  purpose       TEXT NOT NULL,
  valid         BOOLEAN NOT NULL,
  diagnostics   TEXT NOT NULL,
  definition    TEXT NOT NULL,
  watch         BOOLEAN NOT NULL,
  scheduled     BOOLEAN NOT NULL,
  expression    TEXT,
  zone          TEXT,
  gate          TEXT NOT NULL,
  failures      BIGINT NOT NULL,
  since_seq     BIGINT NOT NULL,
  registered_at BIGINT NOT NULL,
  PRIMARY KEY (repo, daemon, path)
);

CREATE TABLE coverage (
  repo       TEXT NOT NULL,
  daemon     TEXT NOT NULL,
  number     BIGINT NOT NULL,
  expression TEXT NOT NULL,
  zone       TEXT NOT NULL,
  cursor     BIGINT NOT NULL,
  is_open    BOOLEAN NOT NULL,
  PRIMARY KEY (repo, daemon, number)
);
CREATE UNIQUE INDEX coverage_open ON coverage (repo, daemon) WHERE is_open;

-- Kept by when the ticks were scheduled.
CREATE SEQUENCE tick_number;
CREATE TABLE tick (
  repo         TEXT NOT NULL,
  daemon       TEXT NOT NULL,
  scheduled_at BIGINT NOT NULL,
  number       BIGINT NOT NULL DEFAULT nextval('tick_number'),
  first        BIGINT NOT NULL,
  count        BIGINT NOT NULL,
  outcome      TEXT NOT NULL,
  activation   TEXT,
  recorded_at  BIGINT NOT NULL,
  coverage     BIGINT,
  PRIMARY KEY (repo, daemon, scheduled_at, number)
) PARTITION BY RANGE (scheduled_at);
CREATE UNIQUE INDEX tick_once ON tick (repo, daemon, scheduled_at) WHERE outcome <> 'retracted';
CREATE INDEX tick_listed ON tick (scheduled_at, number);
CREATE INDEX tick_recorded ON tick (recorded_at);
CREATE TABLE tick_other PARTITION OF tick DEFAULT;

-- Numbers order queues and listings. Ids cannot, because those of one millisecond are random.
CREATE SEQUENCE activation_number;
CREATE TABLE activation (
  repo          TEXT NOT NULL,
  id            TEXT NOT NULL,
  daemon        TEXT NOT NULL,
  number        BIGINT NOT NULL DEFAULT nextval('activation_number'),
  rev           TEXT NOT NULL,
  subject       TEXT NOT NULL,             -- empty without one
  state         TEXT NOT NULL,
  reason        TEXT,
  attempts      BIGINT NOT NULL,
  crashes_alone BIGINT NOT NULL,
  host_crashes  BIGINT NOT NULL,
  run_lease     BIGINT NOT NULL,           -- rises with every claim: the fence
  host          TEXT,                      -- the host that claimed it last
  owner         BIGINT,
  lease_until   BIGINT,
  lease_span    BIGINT,                    -- how long a renewal lasts
  not_before    BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  started_at    BIGINT,
  finished_at   BIGINT,
  tokens        BIGINT,
  cost_usd      DOUBLE PRECISION,
  summary       TEXT,
  has_person    BOOLEAN NOT NULL,
  has_tick      BOOLEAN NOT NULL,
  root          TEXT,                      -- NULL if it is a root itself
  depth         BIGINT NOT NULL,
  PRIMARY KEY (repo, id)
);
CREATE INDEX activation_id ON activation (id);
CREATE INDEX activation_listed ON activation (created_at, number);
CREATE INDEX activation_of_daemon ON activation (repo, daemon, created_at, number);
CREATE INDEX activation_in_state ON activation (state, created_at, number);
CREATE INDEX activation_queue ON activation (repo, daemon, has_person, number) WHERE state = 'pending';
CREATE INDEX activation_about ON activation (repo, daemon, subject, number) WHERE state = 'pending';
CREATE INDEX activation_wait ON activation (not_before) WHERE state = 'pending';
CREATE INDEX activation_busy ON activation (repo, daemon, subject) WHERE state IN ('claimed', 'running', 'delivering');
CREATE INDEX activation_leased ON activation (host) WHERE state IN ('claimed', 'running');
CREATE INDEX activation_began ON activation (started_at) WHERE started_at IS NOT NULL;
CREATE INDEX activation_began_of ON activation (repo, daemon, started_at) WHERE started_at IS NOT NULL;
CREATE INDEX activation_ended ON activation (repo, daemon, finished_at, number) WHERE finished_at IS NOT NULL;
CREATE INDEX activation_ticking ON activation (repo, daemon, number) WHERE has_tick AND finished_at IS NULL;
CREATE INDEX activation_of_root ON activation (root, created_at) WHERE root IS NOT NULL;
CREATE INDEX activation_suspect ON activation (state) WHERE host_crashes > 0 OR crashes_alone > 0;

-- `trigger` is a word of SQL.
CREATE SEQUENCE wake_number;
CREATE TABLE wake (
  repo        TEXT NOT NULL,
  daemon      TEXT NOT NULL,
  key         TEXT NOT NULL,
  number      BIGINT NOT NULL DEFAULT nextval('wake_number'),
  conditions  TEXT NOT NULL,
  asked_by    TEXT,
  recorded_at BIGINT NOT NULL,
  activation  TEXT,
  place       BIGINT NOT NULL,             -- among the triggers of its activation
  occasion    TEXT,
  PRIMARY KEY (repo, daemon, key)
);
CREATE INDEX wake_of_activation ON wake (activation, place);
CREATE INDEX wake_key ON wake (key);

-- The repository of a run that belongs to no daemon is empty.
CREATE SEQUENCE run_number;
CREATE TABLE run (
  repo        TEXT NOT NULL,
  id          TEXT NOT NULL,
  daemon      TEXT NOT NULL,
  number      BIGINT NOT NULL DEFAULT nextval('run_number'),
  host        TEXT NOT NULL,
  activation  TEXT,
  attempt     BIGINT NOT NULL,
  provider    TEXT NOT NULL,
  state       TEXT NOT NULL,
  started_at  BIGINT NOT NULL,
  finished_at BIGINT,
  object      TEXT NOT NULL,
  PRIMARY KEY (repo, id)
);
CREATE INDEX run_id ON run (id);
CREATE INDEX run_listed ON run (started_at, number);
CREATE INDEX run_in_state ON run (state, started_at, number);
CREATE INDEX run_of_daemon ON run (repo, daemon, started_at, number);
CREATE INDEX run_of_activation ON run (activation, number);

CREATE SEQUENCE output_number;
CREATE TABLE output (
  repo           TEXT NOT NULL,
  key            TEXT NOT NULL,
  daemon         TEXT NOT NULL,
  number         BIGINT NOT NULL DEFAULT nextval('output_number'),
  activation     TEXT NOT NULL,
  ordinal        BIGINT NOT NULL,
  surface        TEXT NOT NULL,
  target         TEXT NOT NULL,
  content        TEXT NOT NULL,
  revision       TEXT,
  state          TEXT NOT NULL,
  host           TEXT,                     -- the host that sends it
  remote_id      TEXT,
  url            TEXT,
  attempts       BIGINT NOT NULL,
  not_before     BIGINT NOT NULL,
  created_at     BIGINT NOT NULL,
  delivered_at   BIGINT,
  in_doubt_since BIGINT,
  error          TEXT,
  PRIMARY KEY (repo, key)
);
CREATE INDEX output_key ON output (key);
CREATE INDEX output_listed ON output (created_at, number);
CREATE INDEX output_in_state ON output (state, created_at, number);
CREATE INDEX output_of_daemon ON output (repo, daemon, created_at, number);
CREATE INDEX output_of_activation ON output (activation, ordinal);
CREATE INDEX output_waiting ON output (not_before) WHERE state IN ('planned', 'ambiguous');
CREATE INDEX output_remote ON output (surface, remote_id) WHERE remote_id IS NOT NULL;
CREATE INDEX output_target ON output (surface, target);
CREATE INDEX output_revision ON output (surface, revision) WHERE revision IS NOT NULL;
CREATE INDEX output_delivered ON output (repo, daemon, delivered_at) WHERE state = 'confirmed';

CREATE TABLE memory (
  repo   TEXT NOT NULL,
  daemon TEXT NOT NULL,
  key    TEXT NOT NULL,
  json   TEXT NOT NULL,
  PRIMARY KEY (repo, daemon, key)
);

-- The roster. Its counter counts its commits: each names the one that it was decided after.
CREATE TABLE roster_row (
  id                   TEXT PRIMARY KEY,
  kind                 TEXT NOT NULL,
  project              TEXT,
  role                 TEXT,
  name                 TEXT NOT NULL,
  actor_ref            TEXT NOT NULL,
  harness              TEXT,
  incarnation          BIGINT NOT NULL,
  process              TEXT,
  session              TEXT,
  expected_at          BIGINT NOT NULL,
  first_checkin_at     BIGINT,
  last_checkin_at      BIGINT,
  activity_at          BIGINT,
  activity_incarnation BIGINT,
  gate                 TEXT NOT NULL,
  cadence              TEXT,
  context_tokens       BIGINT,
  context_limit        BIGINT,
  needs_compaction     BOOLEAN NOT NULL,
  winddown             TEXT NOT NULL,
  handoff_ref          TEXT,
  predecessor          TEXT,
  successor            TEXT,
  generation           BIGINT,
  trouble              TEXT,
  nonce                TEXT UNIQUE,
  handle               TEXT,
  process_state        TEXT,
  due_at               BIGINT,
  notified             TEXT,
  retired_at           BIGINT
);
CREATE UNIQUE INDEX roster_row_actor ON roster_row (kind, coalesce(project, ''), actor_ref) WHERE retired_at IS NULL;

CREATE TABLE roster_signal (
  id           TEXT PRIMARY KEY,
  kind         TEXT NOT NULL,
  project      TEXT NOT NULL,
  target       TEXT,
  dedupe_key   TEXT,
  priority     BIGINT NOT NULL,
  payload      TEXT NOT NULL,
  reference    TEXT,
  status       TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  claimed_by   TEXT,
  token        TEXT,
  lease_until  BIGINT,
  attempts     BIGINT NOT NULL,
  result       TEXT,
  error        TEXT,
  ended_at     BIGINT
);
CREATE INDEX roster_signal_ended ON roster_signal (ended_at);

CREATE TABLE roster_baton (
  project    TEXT NOT NULL,
  role       TEXT NOT NULL,
  holder     TEXT,
  generation BIGINT NOT NULL,
  PRIMARY KEY (project, role)
);
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
  requested_at BIGINT NOT NULL,
  spawned_at   BIGINT,
  ready_at     BIGINT,
  ended_at     BIGINT
);
CREATE UNIQUE INDEX roster_reset_open ON roster_reset (project, role) WHERE ended_at IS NULL;

CREATE TABLE roster_plan (
  id         TEXT PRIMARY KEY,
  project    TEXT NOT NULL,
  role       TEXT NOT NULL,
  harness    TEXT NOT NULL,
  wanted     TEXT,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL,
  packet     BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  of_row        TEXT
);
CREATE TABLE roster_plan_check (
  plan    TEXT NOT NULL,
  place   BIGINT NOT NULL,
  name    TEXT NOT NULL,
  outcome TEXT NOT NULL,
  PRIMARY KEY (plan, place)
);

-- Tokens by their hash only.
CREATE TABLE roster_credential (
  hash        BYTEA PRIMARY KEY,
  of_row         TEXT NOT NULL,
  incarnation BIGINT NOT NULL
);

CREATE SEQUENCE roster_checkin_number;
CREATE TABLE roster_checkin (
  number         BIGINT PRIMARY KEY DEFAULT nextval('roster_checkin_number'),
  of_row            TEXT NOT NULL,
  incarnation    BIGINT NOT NULL,
  at             BIGINT NOT NULL,
  wake           TEXT NOT NULL,
  cadence        TEXT,
  context_tokens BIGINT
);
CREATE INDEX roster_checkin_row ON roster_checkin (of_row, number);
CREATE INDEX roster_checkin_at ON roster_checkin (at);

CREATE SEQUENCE roster_audit_number;
CREATE TABLE roster_audit (
  number     BIGINT PRIMARY KEY DEFAULT nextval('roster_audit_number'),
  at         BIGINT NOT NULL,
  actor      TEXT NOT NULL,
  kind       TEXT NOT NULL,
  of_row        TEXT,
  from_state TEXT,
  to_state   TEXT,
  rule       TEXT,
  reason     TEXT NOT NULL,
  request    TEXT,
  count      BIGINT NOT NULL
);
CREATE INDEX roster_audit_row ON roster_audit (of_row, number);
CREATE INDEX roster_audit_at ON roster_audit (at);


CREATE FUNCTION roster_audit_is_not_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an audit entry is never changed';
END $$;
CREATE TRIGGER roster_audit_is_not_changed BEFORE UPDATE ON roster_audit
  FOR EACH ROW EXECUTE FUNCTION roster_audit_is_not_changed();
-- 400 days before the newest entry, and not before now: a trigger that reads the clock would obey one in the future.
CREATE FUNCTION roster_audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF old.at >= (SELECT max(at) FROM roster_audit) - 34560000000000 THEN
    RAISE EXCEPTION 'an audit entry is kept for 400 days';
  END IF;
  RETURN old;
END $$;
CREATE TRIGGER roster_audit_is_kept BEFORE DELETE ON roster_audit
  FOR EACH ROW EXECUTE FUNCTION roster_audit_is_kept();
