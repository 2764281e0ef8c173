-- Entries are never updated: one that replaces another gets a higher number, so that numbers are the order of age.
CREATE TABLE entry (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  aliases TEXT NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (kind, name)
) STRICT;

-- The text is given as words that are separated by spaces, which this tokenizer does not change any further.
CREATE VIRTUAL TABLE word USING fts5 (
  name, aliases, content,
  content = '', contentless_delete = 1, tokenize = 'ascii'
);
