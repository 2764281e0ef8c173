-- How each host began: what had become of the one before it, and how many runs that one had left under way.
CREATE TABLE host_start (
  epoch   INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  after   TEXT NOT NULL,
  present INTEGER NOT NULL
);

-- `host_crashes` are from here on the newest faults of the host in a row that each had a run of the activation.
ALTER TABLE activation ADD COLUMN crashes_alone INTEGER NOT NULL DEFAULT 0;
-- They counted every kill until here.
UPDATE activation SET host_crashes = 0 WHERE finished_at IS NULL AND host_crashes > 0;
CREATE INDEX activation_suspect ON activation (state) WHERE host_crashes > 0 OR crashes_alone > 0;
