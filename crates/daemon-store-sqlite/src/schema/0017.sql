-- Where the content of this store was imported. A host that would start on it would do the work of the other store again.
CREATE TABLE moved (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  import   TEXT NOT NULL,
  target   TEXT NOT NULL,
  finished INTEGER NOT NULL
);
