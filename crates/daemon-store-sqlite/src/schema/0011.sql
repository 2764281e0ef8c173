-- Texts that the host keeps under names, such as how far the events of a service were compared with its objects.
CREATE TABLE bookmark (
  name TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  at   INTEGER NOT NULL
) WITHOUT ROWID;
