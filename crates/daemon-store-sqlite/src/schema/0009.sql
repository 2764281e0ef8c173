-- The branch of its own repository that each pull request comes from, NULL for one of a fork: comments and checks name
-- a pull request by its number alone, also after the payload that said the branch is forgotten.
CREATE TABLE pull_request (
  subject TEXT PRIMARY KEY,
  head    TEXT
) WITHOUT ROWID;
DROP INDEX event_of_pull_request;

WITH said AS (
  SELECT e.seq, 0 AS number, e.source, e.kind, e.subject, p.facts FROM event AS e JOIN payload AS p ON p.seq = e.seq
  UNION ALL SELECT seq, number, source, kind, subject, facts FROM report
), ends AS (
  SELECT seq, number, subject,
    (SELECT value ->> 1 FROM json_each(facts, '$.facts') WHERE value ->> 0 = 'head') AS head,
    (SELECT value ->> 1 FROM json_each(facts, '$.facts') WHERE value ->> 0 = 'fork') AS fork
  FROM said WHERE source = 'github' AND kind GLOB 'pull_request*' AND subject IS NOT NULL AND json_valid(facts)
)
INSERT OR REPLACE INTO pull_request
SELECT subject, iif(fork, NULL, head) FROM ends WHERE head IS NOT NULL ORDER BY seq, number;
