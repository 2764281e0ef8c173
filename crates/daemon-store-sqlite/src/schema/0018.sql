-- The SHA-256 of the charter that a standing daemon was started with.
ALTER TABLE roster_row ADD COLUMN charter TEXT;

-- What the events of each block of 4096 numbers have: between when and when they were received, and their repositories as a JSON
-- array. A block is summarised once it is full.
CREATE TABLE event_block (
  block    INTEGER PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL,
  repos    TEXT NOT NULL
);
INSERT INTO event_block SELECT seq / 4096, min(received_at), max(received_at), json_group_array(DISTINCT repo_folded)
FROM event WHERE seq < 4096 * (SELECT max(seq) / 4096 FROM event) GROUP BY seq / 4096;
