-- The keys of the newest events, in the order in which they were stored. A new key has a random place in `identity` and would
-- write a page there; many are moved together, in the order of the keys.
CREATE TABLE recent_identity (
  number    INTEGER PRIMARY KEY,
  key       TEXT NOT NULL,
  seq       INTEGER NOT NULL,
  stored_at INTEGER NOT NULL
);

-- Without the reference to `event`: keys are moved in an order in which each check of it would read another page. Events are
-- never removed.
CREATE TABLE all_identities (
  key       TEXT PRIMARY KEY,
  seq       INTEGER NOT NULL,
  stored_at INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO all_identities SELECT key, seq, stored_at FROM identity ORDER BY key;
DROP TABLE identity;
ALTER TABLE all_identities RENAME TO identity;
