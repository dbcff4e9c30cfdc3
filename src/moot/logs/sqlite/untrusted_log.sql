-- Queries for an untrusted log file, and for the log that is rebuilt from it. Each `-- name:` starts one statement.

-- name: schema
SELECT name, type, rootpage FROM sqlite_schema;

-- name: columns
SELECT name, hidden FROM pragma_table_xinfo(?);

-- name: extent
SELECT count(*), coalesce(max(last), 0) FROM commits;

-- No index is used: its content may differ from the table's.

-- name: events
SELECT position, type, v, stream, prev, at, "by", data, cause, thread, pack, commit_id, n, digest
FROM event NOT INDEXED ORDER BY position;

-- name: span
SELECT first, last, via, hash FROM commits WHERE id = ?;

-- name: requests
SELECT scope, key, digest, first, last FROM request;

-- name: meta
SELECT key, value FROM meta;

-- For a backup with blobs.

-- name: blobs
SELECT digest, n, data FROM blob ORDER BY digest, n;

-- For a file older than version 4, which has no chain.

-- name: events_3
SELECT position, type, v, stream, prev, at, "by", data, cause, thread, pack, commit_id, n, NULL
FROM event NOT INDEXED ORDER BY position;

-- name: span_3
SELECT first, last, NULL, NULL FROM commits WHERE id = ?;

-- For the rebuilt log.

-- name: prevs
SELECT prev FROM event WHERE position > ? ORDER BY position;

-- name: hash
SELECT hash FROM commits WHERE id = ?;

-- For a log with a row that cannot be read.

-- name: next
SELECT min(position) FROM event WHERE stream = ? AND position > ?;
