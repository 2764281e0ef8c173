-- The SHA-256 of the charter that a standing daemon was started with.
ALTER TABLE roster_row ADD COLUMN charter TEXT;
