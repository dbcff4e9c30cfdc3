-- name: standing
SELECT (SELECT value FROM meta WHERE key = 'cursor'), NULL, NULL

-- name: set_meta
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: redacted
SELECT value FROM meta WHERE key = 'redacted'

-- name: add
INSERT INTO said (rowid, name, text, kind, stream, task, who, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: remove
DELETE FROM said WHERE rowid = ?

-- name: merge
INSERT INTO said (said) VALUES ('optimize')

-- name: untidy
SELECT value FROM meta WHERE key = 'untidy'

-- name: tidied
DELETE FROM meta WHERE key = 'untidy'

-- name: best
SELECT rowid, stream, kind, bm25(said, 2.0, 1.0) AS worth FROM said
WHERE said MATCH ?1 AND rowid <= ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
  AND (?4 IS NULL OR who = ?4) AND (?5 IS NULL OR task = ?5) AND (?6 IS NULL OR at >= ?6) AND (?7 IS NULL OR at < ?7)
ORDER BY kind = 'receipts', worth, rowid DESC -- what was run again and again stands behind what was said about it

-- name: newest
SELECT rowid, stream, kind, 0.0 FROM said
WHERE said MATCH ?1 AND rowid <= ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
  AND (?4 IS NULL OR who = ?4) AND (?5 IS NULL OR task = ?5) AND (?6 IS NULL OR at >= ?6) AND (?7 IS NULL OR at < ?7)
ORDER BY rowid DESC

-- name: page
CREATE VIRTUAL TABLE page USING fts5 (name, text, tokenize = 'unicode61 remove_diacritics 2')

-- name: write_page
INSERT INTO page (rowid, name, text) VALUES (?, ?, ?)

-- name: marked
SELECT rowid, snippet(page, 1, ?2, ?3, '…', 24) FROM page WHERE page MATCH ?1
