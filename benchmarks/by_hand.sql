-- The rows that a send of moot writes, written by hand. `by_hand.py` reads these statements. The tables are created from
-- moot's schema files.

-- name: head
SELECT coalesce(max(position), 0) FROM event

-- name: last_hash
SELECT hash FROM commits WHERE id = (SELECT commit_id FROM event WHERE position = ?)

-- name: event
INSERT INTO event (position, type, v, stream, prev, at, "by", data, thread, commit_id, n, digest)
VALUES (?, 'message:sent', 1, ?, 0, ?, ?, ?, ?, ?, 0, ?)

-- name: commit
INSERT INTO commits (id, first, last, via, hash) VALUES (?1, ?2, ?2, 'python', ?3)

-- name: message
INSERT INTO message (position, commit_id, id, thread, kind, sender, body) VALUES (?1, ?2, ?3, ?3, 'note', ?4, ?5)

-- name: delivery
INSERT INTO delivery (mailbox, position, message, wants, typed, open) VALUES (?, ?, ?, 'nothing', 0, 1)

-- name: bare_table
CREATE TABLE IF NOT EXISTS said (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT

-- name: bare
INSERT INTO said (text) VALUES (?)
