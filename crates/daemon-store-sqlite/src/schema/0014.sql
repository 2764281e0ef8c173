-- When the last send of an ambiguous output ended without saying whether it had an effect.
ALTER TABLE output ADD COLUMN in_doubt_since INTEGER;
