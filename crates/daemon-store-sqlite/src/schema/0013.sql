-- Without lists of three words and more: SQLite builds a table for such a list each time a trigger or an index asks for it.
DROP INDEX activation_busy;
CREATE INDEX activation_busy ON activation (lane, subject)
WHERE state = 'claimed' OR state = 'running' OR state = 'delivering';

-- The rows of all states exist, so that a trigger only updates: one that may insert makes SQLite keep the old content of every
-- page that the statement changes.
INSERT INTO tally SELECT 'activation', value, 0
FROM json_each('["pending","claimed","running","delivering","succeeded","failed","dead","cancelled"]')
WHERE true ON CONFLICT DO NOTHING;

-- A new row is counted by the program, in a statement of its own: with a trigger, and with the reference to `lane`, SQLite
-- would keep those pages, too.
DROP TRIGGER activation_made;
DROP TRIGGER activation_made_leased;
DROP TRIGGER activation_changed;
DROP TRIGGER activation_changed_leased;
CREATE TRIGGER activation_changed AFTER UPDATE OF state, has_person ON activation
WHEN old.state <> new.state OR old.has_person <> new.has_person BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = 'activation' AND state = old.state;
  UPDATE tally SET n = n + 1 WHERE kind = 'activation' AND state = new.state;
  UPDATE lane SET
    pending = pending + (new.state = 'pending') - (old.state = 'pending'),
    persons = persons + (new.state = 'pending' AND new.has_person) - (old.state = 'pending' AND old.has_person),
    busy = busy + (new.state = 'claimed' OR new.state = 'running' OR new.state = 'delivering')
      - (old.state = 'claimed' OR old.state = 'running' OR old.state = 'delivering'),
    leased = leased + (new.state = 'claimed' OR new.state = 'running') - (old.state = 'claimed' OR old.state = 'running')
  WHERE id = new.lane;
END;
