-- When a host last checked in, how far its clock was ahead of that of the database, both in microseconds, and what it said of itself, as JSON.
ALTER TABLE host ADD COLUMN seen_at BIGINT;
ALTER TABLE host ADD COLUMN clock_ahead BIGINT;
ALTER TABLE host ADD COLUMN about TEXT;
CREATE INDEX output_sent_by ON output (host) WHERE state = 'sending';
