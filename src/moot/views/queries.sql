-- name: standing
SELECT (SELECT value FROM meta WHERE key = 'cursor'), (SELECT value FROM meta WHERE key = 'newer'),
  (SELECT position || ' ' || commit_id FROM message WHERE position = (SELECT max(position) FROM message)),
  (SELECT value FROM meta WHERE key = 'rules')

-- name: get_meta
SELECT value FROM meta WHERE key = ?

-- name: set_meta
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: entity
SELECT version, state FROM entity WHERE stream = ?

-- The state is left out, and not read, if the version is the known one.
-- name: newer_entity
SELECT version, CASE WHEN version IS NOT ?2 THEN state END FROM entity WHERE stream = ?1

-- name: put_entity
INSERT INTO entity (stream, version, state) VALUES (?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET version = excluded.version, state = excluded.state

-- name: entities
SELECT stream, version, state FROM entity WHERE stream >= ? AND stream < ? ORDER BY stream

-- name: put_task
INSERT INTO task (id, number, phase, state, blocked, rank, created, holder, assigned, origin, unreviewed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET phase = excluded.phase, state = excluded.state, blocked = excluded.blocked,
  rank = excluded.rank, holder = excluded.holder, assigned = excluded.assigned, unreviewed = excluded.unreviewed

-- name: put_thing
INSERT INTO thing (kind, id, open, created, task) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (kind, id) DO UPDATE SET open = excluded.open, task = excluded.task
WHERE open IS NOT excluded.open OR task IS NOT excluded.task

-- name: things
SELECT e.state FROM thing t INDEXED BY thing_created CROSS JOIN entity e ON e.stream = t.kind || '/' || t.id
WHERE t.kind = ?1 ORDER BY t.created DESC LIMIT ?2

-- name: open_things
SELECT e.state FROM thing t INDEXED BY thing_open CROSS JOIN entity e ON e.stream = t.kind || '/' || t.id
WHERE t.kind = ?1 AND t.open = 1 ORDER BY t.created LIMIT ?2

-- name: thing_ids
SELECT id FROM thing WHERE kind = ?1 AND id >= ?2 AND id < ?3 ORDER BY id

-- name: count_things
SELECT count(*) FROM thing WHERE kind = ?1 AND (?2 OR open = 1)

-- name: things_of_task
SELECT kind, id FROM thing INDEXED BY thing_task WHERE task = ? ORDER BY created

-- name: stopped_tasks
SELECT e.state FROM task t INDEXED BY task_stopped CROSS JOIN entity e ON e.stream = 'task/' || t.id
WHERE t.phase = 'stopped' AND t.state = ?1 ORDER BY t.created LIMIT ?2

-- name: highest_number
SELECT max(number) FROM task

-- name: tasks_numbered
SELECT id FROM task WHERE number = ? ORDER BY id

-- name: tasks
SELECT e.version, e.state FROM task t JOIN entity e ON e.stream = 'task/' || t.id
WHERE (?1 IS NULL OR t.phase = ?1 OR t.state = ?1) AND (?2 OR t.phase IN ('open', 'working', 'review'))
ORDER BY t.created

-- name: last_ended
SELECT max(e.state ->> 'since') FROM task t JOIN entity e ON e.stream = 'task/' || t.id
WHERE t.phase IN ('done', 'stopped') AND e.state ->> 'lifecycle' = ?

-- name: in_review
SELECT e.state FROM task t INDEXED BY task_phase CROSS JOIN entity e ON e.stream = 'task/' || t.id
WHERE t.phase = 'review' ORDER BY t.created LIMIT ?

-- name: ready
SELECT e.version, e.state FROM task t JOIN entity e ON e.stream = 'task/' || t.id
WHERE t.phase = 'open' AND t.blocked = 0 AND t.id NOT IN (SELECT value FROM json_each(?2))
ORDER BY t.rank, t.created LIMIT ?1

-- name: count_ready
SELECT count(*) FROM task WHERE phase = 'open' AND blocked = 0 AND id NOT IN (SELECT value FROM json_each(?1))

-- name: tasks_without_review
SELECT t.id FROM task t INDEXED BY task_unreviewed CROSS JOIN entity e ON e.stream = 'task/' || t.id
WHERE t.unreviewed = 1 AND (t.phase IN ('open', 'working', 'review') OR e.state ->> 'since' > ?1)
AND coalesce(e.state ->> 'lifecycle', 'core') IN (SELECT value FROM json_each(?2))
ORDER BY t.created DESC LIMIT ?3

-- name: planned_tasks
SELECT origin, id FROM task INDEXED BY task_origin WHERE origin IS NOT NULL ORDER BY created

-- name: assigned_tasks
SELECT e.state FROM task t INDEXED BY task_assigned CROSS JOIN entity e ON e.stream = 'task/' || t.id
WHERE t.assigned IS NOT NULL AND (?1 IS NULL OR t.assigned = ?1) ORDER BY t.rank, t.created

-- name: task_counts
SELECT state, phase, count(*), sum(blocked) FROM task GROUP BY phase, state ORDER BY min(created)

-- name: tasks_in
SELECT e.state FROM task t INDEXED BY task_phase CROSS JOIN entity e ON e.stream = 'task/' || t.id
WHERE t.phase = ?1 AND t.state = ?2 AND t.blocked = ?3 ORDER BY t.created LIMIT ?4

-- name: task_ids
SELECT id FROM task

-- name: task_ids_by_state
SELECT id FROM task WHERE state = ? ORDER BY created

-- name: held_by
SELECT id FROM task WHERE holder = ? ORDER BY id

-- name: held_tasks
SELECT id FROM task INDEXED BY task_holder WHERE holder IS NOT NULL ORDER BY id

-- name: graph_version
SELECT version FROM entity WHERE stream = 'graph'

-- name: link
INSERT OR IGNORE INTO edge (task, needs) VALUES (?, ?)

-- name: unlink
DELETE FROM edge WHERE task = ? AND needs = ?

-- name: reachable_edges
WITH RECURSIVE reach (id) AS (SELECT value FROM json_each(?) UNION SELECT e.needs FROM reach r CROSS JOIN edge e ON e.task = r.id)
SELECT e.task, e.needs FROM reach r CROSS JOIN edge e ON e.task = r.id

-- name: dependents
SELECT task FROM edge WHERE needs = ? ORDER BY task

-- name: put_message
INSERT INTO message (position, commit_id, id, thread, kind, sender, task, attempt, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: message
SELECT position, body FROM message WHERE id = ?

-- name: messages_of_thread
SELECT body, position FROM message WHERE id = ?1 AND thread = id
UNION ALL
SELECT body, position FROM message INDEXED BY message_thread WHERE thread = ?1 AND thread <> id
ORDER BY position

-- name: messages_of_task
SELECT body FROM message WHERE task = ? AND (?2 IS NULL OR attempt = ?2) AND (?3 IS NULL OR kind = ?3) ORDER BY position

-- name: messages_of_agent
SELECT m.body FROM message m WHERE substr(lower(m.sender) || '#', 1, length(?1) + 1) = ?1 || '#'
   OR m.position IN (SELECT position FROM delivery WHERE open IN (0, 1) AND mailbox = ?1)
ORDER BY m.position

-- name: last_of_kind
SELECT body FROM message INDEXED BY message_kind WHERE kind = ? AND attempt IS NOT NULL ORDER BY position DESC LIMIT 1

-- name: put_delivery
INSERT INTO delivery (mailbox, position, message, wants, typed, open, expires)
VALUES (?, ?, ?, ?, ?, 1, unixepoch(?, 'subsec') + ?)

-- name: count_delivery
INSERT INTO unread (mailbox, part, count) VALUES (?, 'open', 1) ON CONFLICT DO UPDATE SET count = count + 1

-- name: count_entries
WITH changed AS (SELECT d.taker, d.seen, substr(lower(d.taker), 1, instr(d.taker || '#', '#') - 1) AS agent
                 FROM json_each(?3) b CROSS JOIN delivery d ON d.open = 1 AND d.mailbox = ?2 AND d.position = b.value)
INSERT INTO unread (mailbox, part, count)
SELECT ?2, r.part, ?1 FROM (
  SELECT 'open' AS part FROM changed
  UNION ALL
  SELECT 'taken ' || agent FROM changed WHERE taker IS NOT NULL
  UNION ALL
  SELECT 'seen ' || j.value FROM changed c CROSS JOIN json_each(c.seen) j
  WHERE c.taker IS NULL OR instr(lower(j.value) || '#', c.agent || '#') = 1) r
WHERE true ON CONFLICT DO UPDATE SET count = count + excluded.count

-- name: deliveries
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, d.offered_at, d.ended_at
FROM json_each(?2) j CROSS JOIN delivery d ON d.open IN (0, 1) AND d.mailbox = j.value AND d.position = ?1

-- name: entries
SELECT d.position, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden
FROM json_each(?2) j CROSS JOIN message m ON m.id = j.value
CROSS JOIN delivery d ON d.open IN (0, 1) AND d.mailbox = ?1 AND d.position = m.position

-- name: put_entry
UPDATE delivery SET open = ?, seen = ?, taker = ?, reply = ?, ended = ?, hidden = ?,
  offered_at = iif(?, coalesce(offered_at, ?), NULL), ended_at = iif(?, coalesce(ended_at, ?), NULL)
WHERE open IN (0, 1) AND mailbox = ? AND position = ?

-- name: open_deliveries
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, m.body
FROM delivery d CROSS JOIN message m ON m.position = d.position
WHERE d.mailbox = ? AND d.open = 1 ORDER BY d.position LIMIT ?

-- name: unsettled
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, m.body
FROM delivery d CROSS JOIN message m ON m.position = d.position
WHERE d.mailbox = ?1 AND d.open = 1 AND EXISTS (SELECT 1 FROM json_each(d.seen) j WHERE j.value = ?2) = ?3
  AND (d.taker IS NULL OR instr(lower(d.taker) || '#', ?4 || '#') = 1)
ORDER BY d.position

-- name: count_unsettled
SELECT count(*), coalesce(sum(octet_length(m.body)), 0) FROM delivery d CROSS JOIN message m ON m.position = d.position
WHERE d.mailbox = ?1 AND d.open = 1 AND EXISTS (SELECT 1 FROM json_each(d.seen) j WHERE j.value = ?2) = ?3
  AND (d.taker IS NULL OR instr(lower(d.taker) || '#', ?4 || '#') = 1)

-- name: count_new
SELECT coalesce(sum(r.count), 0) FROM (
  SELECT u.count FROM json_each(?1) b CROSS JOIN unread u ON u.mailbox = b.value AND u.part = 'open'
  UNION ALL
  SELECT -u.count FROM json_each(?1) b CROSS JOIN unread u ON u.mailbox = b.value AND u.part = 'seen ' || ?2
  UNION ALL
  SELECT -u.count FROM json_each(?1) b CROSS JOIN unread u ON u.mailbox = b.value
    AND u.part > 'taken ' AND u.part < 'taken!' AND u.part <> 'taken ' || ?3
  UNION ALL
  SELECT -1 FROM json_each(?1) b CROSS JOIN delivery d INDEXED BY delivery_expires
    ON d.open = 1 AND d.mailbox = b.value AND d.expires < ?4
  WHERE NOT EXISTS (SELECT 1 FROM json_each(d.seen) j WHERE j.value = ?2)
    AND (d.taker IS NULL OR instr(lower(d.taker) || '#', ?3 || '#') = 1)) r

-- name: settled
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, m.body
FROM delivery d CROSS JOIN message m ON m.position = d.position
WHERE d.open = 0 AND d.mailbox = ?1 AND (d.taker IS NULL OR instr(lower(d.taker) || '#', ?2 || '#') = 1)
ORDER BY d.position DESC LIMIT ?3

-- name: count_settled
SELECT count(*), coalesce(sum(octet_length(m.body)), 0) FROM delivery d CROSS JOIN message m ON m.position = d.position
WHERE d.open = 0 AND d.mailbox = ?1 AND (d.taker IS NULL OR instr(lower(d.taker) || '#', ?2 || '#') = 1)

-- name: count_open
SELECT count(*) FROM delivery WHERE mailbox = ? AND open = 1

-- name: open_everywhere
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, m.body
FROM delivery d JOIN message m ON m.position = d.position WHERE d.open = 1 AND d.wants <> 'nothing' ORDER BY d.position

-- name: open_per_mailbox
SELECT o.mailbox, o.count, json_extract(m.body, '$.at')
FROM (SELECT mailbox, count(*) AS count, min(position) AS first
      FROM delivery WHERE open = 1 GROUP BY mailbox) o
CROSS JOIN message m ON m.position = o.first ORDER BY o.mailbox

-- name: overdue
WITH wanted AS (SELECT mailbox, position FROM delivery INDEXED BY delivery_wanted
                WHERE open = 1 AND wants <> 'nothing' ORDER BY position LIMIT ?2)
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, m.body
FROM wanted w CROSS JOIN message m ON m.position = w.position
CROSS JOIN delivery d ON d.open = 1 AND d.mailbox = w.mailbox AND d.position = w.position
WHERE unixepoch(m.body ->> 'at', 'subsec') + (m.body ->> 'within') < ?1 ORDER BY d.position LIMIT ?3

-- name: mailbox_history
SELECT b.mailbox, b.message, b.wants, b.seen, b.taker, b.reply, b.ended, b.hidden, m.body
FROM (SELECT * FROM delivery WHERE open = 0 AND mailbox = ?1
      UNION ALL
      SELECT * FROM delivery WHERE open = 1 AND mailbox = ?1) AS b
CROSS JOIN message m ON m.position = b.position
ORDER BY b.position

-- name: mailbox_of_task
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, m.body
FROM message m INDEXED BY message_task
CROSS JOIN delivery d ON d.open IN (0, 1) AND d.mailbox = ?1 AND d.position = m.position
WHERE m.task = ?2 ORDER BY m.position

-- name: mailbox_kinds
SELECT d.mailbox, d.message, d.wants, d.seen, d.taker, d.reply, d.ended, d.hidden, m.body
FROM delivery d INDEXED BY delivery_shown CROSS JOIN message m ON m.position = d.position
WHERE d.mailbox = ?1 AND d.typed = 1 AND d.hidden IS NULL AND m.kind IN (SELECT value FROM json_each(?2))
ORDER BY d.position

-- name: mailbox
SELECT version, last_read FROM mailbox WHERE name = ?

-- name: put_mailbox
INSERT INTO mailbox (name, version, last_read) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET version = excluded.version, last_read = excluded.last_read

-- name: put_read_mark
INSERT OR IGNORE INTO read_mark (mailbox, value) VALUES (?, ?)

-- name: has_read_mark
SELECT 1 FROM read_mark WHERE mailbox = ? AND value = ?

-- name: put_effect
INSERT INTO effect (id, handler, status, due) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, due = excluded.due

-- name: end_effect
DELETE FROM effect WHERE id = ?

-- name: due_effects
SELECT id FROM effect WHERE handler = ? AND status = 'waiting' AND due <= ? ORDER BY due LIMIT ?

-- name: next_effect
SELECT min(due) FROM effect WHERE handler = ? AND status = 'waiting'

-- name: taken_effects
SELECT e.version, e.state FROM effect f CROSS JOIN entity e ON e.stream = 'effect/' || f.id
WHERE f.handler = ? AND f.status = 'taken'

-- name: effect_counts
SELECT handler, status, count(*) FROM effect GROUP BY handler, status

-- name: effects
SELECT e.version, e.state FROM effect f CROSS JOIN entity e ON e.stream = 'effect/' || f.id
WHERE (?1 IS NULL OR f.handler = ?1) AND (?2 IS NULL OR f.status = ?2) ORDER BY f.handler, f.status, f.due

-- name: put_feed_entry
INSERT INTO feed_entry (feed, number, position, at, text, about) VALUES (?, ?, ?, ?, ?, ?)

-- name: put_feed_key
INSERT OR IGNORE INTO feed_key (feed, key, value, number) VALUES (?, ?, ?, ?)

-- name: put_feed_print
INSERT OR IGNORE INTO feed_print (feed, print, number) VALUES (?, ?, ?)

-- name: put_feed_row
INSERT INTO feed_row (feed, list, key, position, text) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (feed, list, key) DO UPDATE SET text = excluded.text

-- name: drop_feed_row
DELETE FROM feed_row WHERE feed = ? AND list = ? AND key = ?

-- name: put_feed_note
INSERT INTO feed_note (feed, position, who, at, text) VALUES (?, ?, ?, ?, ?)

-- name: feed_entry
SELECT number, position, at, text, about FROM feed_entry WHERE feed = ? AND number = ?

-- name: feed_entries
SELECT number, position, at, text, about FROM feed_entry
WHERE feed = ?1 AND number > ?2 AND (?3 IS NULL OR at >= ?3) AND (?4 IS NULL OR at < ?4) ORDER BY number LIMIT ?5

-- name: last_feed_entries
SELECT number, position, at, text, about FROM feed_entry WHERE feed = ? ORDER BY number DESC LIMIT ?

-- name: feed_entries_by_key
SELECT e.number, e.position, e.at, e.text, e.about
FROM feed_key k CROSS JOIN feed_entry e ON e.feed = k.feed AND e.number = k.number
WHERE k.feed = ?1 AND k.key = ?6 AND k.value = ?7 AND k.number > ?2
  AND (?3 IS NULL OR e.at >= ?3) AND (?4 IS NULL OR e.at < ?4)
  AND NOT EXISTS (SELECT 1 FROM json_each(?8) j WHERE NOT EXISTS (
    SELECT 1 FROM feed_key o WHERE o.feed = k.feed AND o.key = j.value ->> 0 AND o.value = j.value ->> 1
      AND o.number = k.number))
ORDER BY k.number LIMIT ?5

-- name: last_feed_entries_by_key
SELECT e.number, e.position, e.at, e.text, e.about
FROM feed_key k CROSS JOIN feed_entry e ON e.feed = k.feed AND e.number = k.number
WHERE k.feed = ?1 AND k.key = ?2 AND k.value = ?3
  AND NOT EXISTS (SELECT 1 FROM json_each(?4) j WHERE NOT EXISTS (
    SELECT 1 FROM feed_key o WHERE o.feed = k.feed AND o.key = j.value ->> 0 AND o.value = j.value ->> 1
      AND o.number = k.number))
ORDER BY k.number DESC LIMIT ?5

-- name: feed_values
SELECT value, max(number) FROM feed_key WHERE feed = ?1 AND key = ?2 GROUP BY value

-- name: feed_prints
SELECT p.print, p.number FROM json_each(?2) j CROSS JOIN feed_print p ON p.feed = ?1 AND p.print = j.value ORDER BY p.number

-- name: feed_shown
SELECT CAST(group_concat(text, ?3) AS BLOB) FROM ( -- in the order of the inner query: sorting again would take long
  SELECT text FROM feed_entry WHERE feed = ?1 AND at >= ?2 AND number >= (
    SELECT min(number) FROM feed_entry INDEXED BY feed_entry_at WHERE feed = ?1 AND at >= ?2)
  ORDER BY number)

-- name: feed_texts
SELECT number, text FROM feed_entry WHERE feed = ?1 AND at >= ?2 AND number >= (
    SELECT min(number) FROM feed_entry INDEXED BY feed_entry_at WHERE feed = ?1 AND at >= ?2)
  ORDER BY number

-- name: feed_rows
SELECT key, text FROM feed_row INDEXED BY feed_row_order WHERE feed = ?1 AND list = ?2 ORDER BY position, key

-- name: feed_rows_between
SELECT key, text FROM feed_row WHERE feed = ?1 AND list = ?2 AND key >= ?3 AND key < ?4 ORDER BY key

-- name: feed_row
SELECT text FROM feed_row WHERE feed = ? AND list = ? AND key = ?

-- name: feed_list
SELECT group_concat(text, ?3 ORDER BY position, key) FROM (
  SELECT text, position, key FROM feed_row INDEXED BY feed_row_order WHERE feed = ?1 AND list = ?2
  ORDER BY position DESC LIMIT ?4)

-- name: feed_table
SELECT group_concat(json_quote(key) || ': ' || text, ?3 ORDER BY key) FROM feed_row WHERE feed = ?1 AND list = ?2

-- name: feed_notes
SELECT position, who, at, text FROM feed_note WHERE feed = ?1 AND position > ?2 AND position <= ?3 ORDER BY position

-- name: put_happening
INSERT INTO journal (pack, position, at, who, type, task, text, was) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: happenings
SELECT position, at, who, type, task, text, was FROM journal WHERE pack = ?1 AND position > ?2 AND position <= ?3
ORDER BY position

-- name: times_of_happenings
SELECT DISTINCT at FROM journal WHERE pack = ?1 UNION SELECT at FROM feed_note WHERE feed = ?1 AND who = 'moot'

-- name: tasks_of_messages
SELECT m.id, m.task FROM json_each(?1) j CROSS JOIN message m ON m.id = j.value WHERE m.task IS NOT NULL ORDER BY m.position

-- name: everything
SELECT * FROM {table}

-- name: everything_of_entity
SELECT * FROM entity ORDER BY stream
