-- The place of an activation among those that woke each other; without a root it is one itself.
ALTER TABLE activation ADD COLUMN root TEXT;
ALTER TABLE activation ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
CREATE INDEX activation_of_root ON activation (root, created_at) WHERE root IS NOT NULL;

-- What an output puts on its surface: a commit.
ALTER TABLE output ADD COLUMN revision TEXT;
UPDATE output SET revision = content ->> '$.commit' WHERE surface = 'git' AND json_valid(content);
CREATE INDEX output_target ON output (surface, target);
CREATE INDEX output_revision ON output (surface, revision) WHERE revision IS NOT NULL;
