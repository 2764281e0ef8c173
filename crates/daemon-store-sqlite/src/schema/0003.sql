-- Which calendar a range of ticks follows, so that a step of the clock can divide it.
ALTER TABLE tick ADD COLUMN coverage INTEGER;

-- What a tick told beside its instant, as JSON.
ALTER TABLE wake ADD COLUMN occasion TEXT;
