-- The full-text index. The texts are in the log: here are their words and where they stand, a row for each event that
-- says something. Everything here follows from the log.

CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;

-- The row id is the position of the event.
CREATE VIRTUAL TABLE said USING fts5 (
  name,               -- the id of the thing, so that it is found by it
  text,
  kind UNINDEXED,
  stream UNINDEXED,
  task UNINDEXED,
  who UNINDEXED,      -- in lower case, without the incarnation
  at UNINDEXED,       -- seconds since 1970
  content = '', contentless_delete = 1, contentless_unindexed = 1, tokenize = 'unicode61 remove_diacritics 2'
);
