-- The blobs in a backup. Each `-- name:` starts one statement.

-- name: make
CREATE TABLE blob (digest TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (digest, n));

-- name: put
INSERT INTO blob (digest, n, data) VALUES (?, ?, ?);
