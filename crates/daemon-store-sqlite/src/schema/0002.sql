-- Facts that payloads lack and conditions need.
CREATE TABLE wanted (
  seq        INTEGER NOT NULL REFERENCES event,
  need       TEXT NOT NULL,
  state      TEXT NOT NULL,
  tries      INTEGER NOT NULL,
  asked_at   INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  origin     TEXT,
  note       TEXT,
  PRIMARY KEY (seq, need)
) WITHOUT ROWID;
CREATE INDEX wanted_waiting ON wanted (not_before) WHERE state = 'waiting';

CREATE TRIGGER wanted_made AFTER INSERT ON wanted BEGIN
  INSERT INTO tally VALUES ('fact', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER wanted_changed AFTER UPDATE OF state ON wanted WHEN old.state <> new.state BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = 'fact' AND state = old.state;
  INSERT INTO tally VALUES ('fact', new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER wanted_gone AFTER DELETE ON wanted BEGIN
  UPDATE tally SET n = n - 1 WHERE kind = 'fact' AND state = old.state;
END;
