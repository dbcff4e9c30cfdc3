-- The statements of the SQLite log. Each `-- name:` starts one; `queries.py` reads them.

-- name: head
SELECT coalesce(max(position), 0) FROM event;

-- name: version
SELECT coalesce((SELECT position FROM event WHERE stream = ? ORDER BY prev DESC LIMIT 1), 0);

-- name: moved
WITH asked (stream, version) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)),
     found (stream, version, now) AS (
       SELECT stream, version,
         coalesce((SELECT position FROM event e WHERE e.stream = asked.stream ORDER BY prev DESC LIMIT 1), 0) FROM asked)
SELECT stream, now FROM found WHERE now <> version LIMIT 1;

-- name: commit
SELECT first, last FROM commits WHERE id = ?;

-- name: request
SELECT digest, first, last FROM request WHERE scope = ? AND key = ?;

-- name: add_event
INSERT INTO event (position, type, v, stream, prev, at, "by", data, cause, thread, pack, commit_id, n, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_commit
INSERT INTO commits (id, first, last, via, hash) VALUES (?, ?, ?, ?, ?);

-- name: add_request
INSERT INTO request (scope, key, digest, first, last) VALUES (?, ?, ?, ?, ?);

-- name: read_all
SELECT position, type, v, stream, prev, at, "by", data, cause, thread, pack, commit_id, n,
  (SELECT via FROM commits WHERE id = commit_id), digest
FROM event WHERE position > ? ORDER BY position LIMIT ?;

-- name: read_stream
SELECT position, type, v, stream, prev, at, "by", data, cause, thread, pack, commit_id, n,
  (SELECT via FROM commits WHERE id = commit_id), digest
FROM event
WHERE stream = ?2 AND position > ?1
  -- Within a stream, what follows a position follows whatever was last before it.
  AND prev >= coalesce((SELECT prev FROM event WHERE stream = ?2 AND prev < ?1 ORDER BY prev DESC LIMIT 1), 0)
ORDER BY prev LIMIT ?3;

-- name: hash_at
SELECT hash FROM commits WHERE id = (SELECT commit_id FROM event WHERE position = ?);

-- name: chained
SELECT position, type, v, stream, prev, cause, thread, pack, n, commit_id, at, "by", digest, CAST(data AS BLOB), via, hash
FROM event LEFT JOIN commits ON id = commit_id WHERE position > ? ORDER BY position LIMIT ?;

-- name: commits_upto
SELECT count(*) FROM commits WHERE last <= ? OR last > (SELECT coalesce(max(position), 0) FROM event);

-- name: requests_astray
SELECT scope, key FROM (
    SELECT r.scope, r.key, count(*) OVER (PARTITION BY r.first) AS same, c.last IS r.last AS whole
    FROM request r LEFT JOIN event e ON e.position = r.first LEFT JOIN commits c ON c.id = e.commit_id AND c.first = r.first
) WHERE same > 1 OR NOT whole LIMIT 20;

-- name: schema
SELECT type, name, tbl_name, sql FROM sqlite_schema;

-- name: get_meta
SELECT value FROM meta WHERE key = ?;

-- name: set_meta
INSERT INTO meta (key, value) VALUES (?, ?);

-- name: erase
UPDATE event SET data = ? WHERE position = ?;

-- name: extent
SELECT count(*), coalesce(max(position), 0) FROM event;

-- name: last_commit
SELECT commit_id FROM event WHERE position = ?;

-- name: rewrite
VACUUM;

-- name: next
SELECT min(position) FROM event WHERE stream = ? AND position > ?;

-- name: integrity
PRAGMA integrity_check(1);

-- name: write_back
PRAGMA wal_checkpoint(TRUNCATE);

-- The blobs in a backup, in a table of their own: a log itself has no such table.

-- name: make_blobs
CREATE TABLE blob (digest TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (digest, n));

-- name: put_blob
INSERT INTO blob (digest, n, data) VALUES (?, ?, ?);

-- name: blobs
SELECT digest, n, CAST(data AS BLOB) FROM blob ORDER BY digest, n;

-- name: drop_blobs
DROP TABLE blob;
