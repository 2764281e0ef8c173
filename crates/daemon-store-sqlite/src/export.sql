-- The rows of each table as a store of many hosts has them, in an order that is always the same. `?1` is the name of the host.
@ counter
SELECT 'epoch' AS name, epoch AS n FROM host
UNION ALL SELECT 'event', coalesce((SELECT max(seq) FROM event), 0)
UNION ALL SELECT 'roster', version FROM roster
@ host
SELECT ?1 AS name, epoch, gate, probes FROM host
@ host_start
SELECT epoch, ?1 AS host, at, after, present FROM host_start ORDER BY epoch
@ event
SELECT coalesce(repo, '') AS repo, received_at, seq, id, source, kind, action, subject, actor, actor_kind, repo_folded, happened_at,
  delivery, duplicates, (SELECT count(*) FROM report AS r WHERE r.seq = e.seq) AS n_reports, due
FROM event AS e ORDER BY seq
@ payload
SELECT coalesce(e.repo, '') AS repo, e.received_at, p.seq, p.facts, p.body
FROM payload AS p JOIN event AS e ON e.seq = p.seq ORDER BY p.seq
@ report
SELECT coalesce(e.repo, '') AS repo, e.received_at, r.seq, r.number, r.source, r.kind, r.action, r.subject, r.actor, r.actor_kind,
  r.repo AS own_repo, r.happened_at, r.received_at AS reported_at, r.delivery, r.facts, r.body
FROM report AS r JOIN event AS e ON e.seq = r.seq ORDER BY r.number
@ identity
SELECT i.key, coalesce(e.repo, '') AS repo, e.received_at, i.seq, i.stored_at
FROM (SELECT key, seq, stored_at FROM identity WHERE key NOT IN (SELECT key FROM recent_identity)
  UNION ALL SELECT key, seq, stored_at FROM (SELECT key, seq, stored_at, max(number) FROM recent_identity GROUP BY key)) AS i
JOIN event AS e ON e.seq = i.seq ORDER BY i.key
@ ref_cursor
SELECT repo, name, commit_id, moves FROM ref_cursor ORDER BY repo, name
@ bookmark
SELECT name, text, at FROM bookmark ORDER BY name
@ pull_request
SELECT subject, head FROM pull_request ORDER BY subject
@ wanted
SELECT coalesce(e.repo, '') AS repo, e.received_at, w.seq, w.need, w.state, w.tries, w.asked_at, w.not_before, w.origin, w.note
FROM wanted AS w JOIN event AS e ON e.seq = w.seq ORDER BY w.seq, w.need
@ lane
SELECT repo, daemon, ready, turn, pending, persons, busy, leased FROM lane ORDER BY id
@ daemon
SELECT repo, daemon, path, rev, commit_id, purpose, valid, diagnostics, definition, watch, scheduled, expression, zone, gate,
  failures, since_seq, registered_at
FROM daemon ORDER BY repo, daemon, path
@ coverage
SELECT l.repo, l.daemon, c.number, c.expression, c.zone, c.cursor, c.is_open
FROM coverage AS c JOIN lane AS l ON l.id = c.lane ORDER BY c.lane, c.number
@ tick
SELECT l.repo, l.daemon, t.scheduled_at, t.number, t.first, t.count, t.outcome, a.id AS activation, t.recorded_at, t.coverage
FROM tick AS t JOIN lane AS l ON l.id = t.lane LEFT JOIN activation AS a ON a.number = t.activation ORDER BY t.number
@ activation
SELECT l.repo, a.id, l.daemon, a.number, a.rev, coalesce(a.subject, '') AS subject, a.state, a.reason, a.attempts, a.crashes_alone,
  a.host_crashes, a.run_lease, iif(a.owner IS NULL, NULL, ?1) AS host, a.owner, a.lease_until,
  iif(a.lease_until IS NULL, NULL, 60000000) AS lease_span, a.not_before, a.created_at, a.started_at, a.finished_at, a.tokens,
  a.cost_usd, a.summary, a.has_person, a.has_tick, a.root, a.depth
FROM activation AS a JOIN lane AS l ON l.id = a.lane ORDER BY a.number
@ wake
SELECT l.repo, l.daemon, w.key, w.number, w.conditions, w.asked_by, w.recorded_at, a.id AS activation, w.place, w.occasion
FROM wake AS w JOIN lane AS l ON l.id = w.lane LEFT JOIN activation AS a ON a.number = w.activation ORDER BY w.number
@ run
SELECT coalesce(l.repo, '') AS repo, r.id, coalesce(l.daemon, '') AS daemon, r.number, ?1 AS host, a.id AS activation, r.attempt,
  r.provider, r.state, r.started_at, r.finished_at, r.object
FROM run AS r LEFT JOIN lane AS l ON l.id = r.lane LEFT JOIN activation AS a ON a.number = r.activation ORDER BY r.number
@ output
SELECT l.repo, o.key, l.daemon, o.number, a.id AS activation, o.ordinal, o.surface, o.target, o.content, o.revision, o.state,
  iif(o.state = 'sending', ?1, NULL) AS host, o.remote_id, o.url, o.attempts, o.not_before, o.created_at, o.delivered_at,
  o.in_doubt_since, o.error
FROM output AS o JOIN lane AS l ON l.id = o.lane JOIN activation AS a ON a.number = o.activation ORDER BY o.number
@ memory
SELECT l.repo, l.daemon, m.key, m.json FROM memory AS m JOIN lane AS l ON l.id = m.lane ORDER BY m.lane, m.key
@ roster_row
SELECT id, kind, project, role, name, actor_ref, harness, incarnation, process, session, expected_at, first_checkin_at,
  last_checkin_at, activity_at, activity_incarnation, gate, cadence, context_tokens, context_limit, needs_compaction, winddown,
  handoff_ref, predecessor, successor, generation, trouble, nonce, handle, process_state, due_at, notified, retired_at, charter
FROM roster_row ORDER BY id
@ roster_signal
SELECT id, kind, project, target, dedupe_key, priority, payload, reference, status, requested_by, claimed_by, token, lease_until,
  attempts, result, error, ended_at
FROM roster_signal ORDER BY id
@ roster_baton
SELECT project, role, holder, generation FROM roster_baton ORDER BY project, role
@ roster_reset
SELECT id, project, role, predecessor, successor, state, requested_by, reason, requested_at, spawned_at, ready_at, ended_at
FROM roster_reset ORDER BY id
@ roster_plan
SELECT id, project, role, harness, wanted, name, status, packet, created_at, row AS of_row FROM roster_plan ORDER BY id
@ roster_plan_check
SELECT plan, place, name, outcome FROM roster_plan_check ORDER BY plan, place
@ roster_credential
SELECT hash, row AS of_row, incarnation FROM roster_credential ORDER BY hash
@ roster_checkin
SELECT number, row AS of_row, incarnation, at, wake, cadence, context_tokens FROM roster_checkin ORDER BY number
@ roster_audit
SELECT number, at, actor, kind, row AS of_row, from_state, to_state, rule, reason, request, count FROM roster_audit ORDER BY number
@ roster_reply
SELECT row AS of_row, request, params, answer, at FROM roster_reply ORDER BY row, request
