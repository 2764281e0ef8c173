-- When the file of a daemon was removed; NULL while it has one.
ALTER TABLE lane ADD COLUMN removed_at BIGINT;
