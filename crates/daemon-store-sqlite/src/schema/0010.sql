-- An activation that delivers frees the slot of its daemon, though not its subject: `busy` counts what blocks a subject,
-- `leased` what occupies a slot.
ALTER TABLE lane ADD COLUMN leased INTEGER NOT NULL DEFAULT 0;
UPDATE lane SET leased = now.n
FROM (SELECT lane, count(*) AS n FROM activation WHERE state IN ('claimed', 'running') GROUP BY lane) AS now
WHERE now.lane = lane.id;

CREATE TRIGGER activation_made_leased AFTER INSERT ON activation WHEN new.state IN ('claimed', 'running') BEGIN
  UPDATE lane SET leased = leased + 1 WHERE id = new.lane;
END;
CREATE TRIGGER activation_changed_leased AFTER UPDATE OF state ON activation
WHEN (old.state IN ('claimed', 'running')) <> (new.state IN ('claimed', 'running')) BEGIN
  UPDATE lane SET leased = leased + (new.state IN ('claimed', 'running')) - (old.state IN ('claimed', 'running'))
  WHERE id = new.lane;
END;
