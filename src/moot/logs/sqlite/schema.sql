-- The log: events in one total order, the commits that brought them, the requests that must not happen twice.
-- All three are append-only; the triggers keep every program to that, not only ours.

-- `digest` is that of the data as it was first stored: erasing the text does not change it (`moot.core.integrity.chain`).

CREATE TABLE event (
    position  INTEGER PRIMARY KEY,
    type      TEXT    NOT NULL,
    v         INTEGER NOT NULL,
    stream    TEXT    NOT NULL,
    prev      INTEGER NOT NULL,
    at        TEXT    NOT NULL,
    "by"      TEXT    NOT NULL,
    data      TEXT    NOT NULL,
    cause     TEXT,
    thread    TEXT,
    pack      TEXT,
    commit_id TEXT    NOT NULL,
    n         INTEGER NOT NULL,
    digest    BLOB    NOT NULL
) STRICT;

-- An event has one successor in its stream, and a stream one beginning: two writers can never both follow the same
-- event, whatever they believe to have read. The same index finds the events of a stream and its last one.
CREATE UNIQUE INDEX event_follows ON event (stream, prev);

-- `hash` covers the commit before it, its own metadata, and that of its events and their digests.
CREATE TABLE commits (
    id    TEXT    PRIMARY KEY,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    via   TEXT,
    hash  BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE request (
    scope  TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    digest TEXT    NOT NULL,
    first  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Also what stops INSERT OR REPLACE, which deletes without asking a trigger.
CREATE TRIGGER event_only_at_the_end BEFORE INSERT ON event
WHEN new.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM event)
BEGIN SELECT raise(ABORT, 'an event is appended at the end of the log'); END;

CREATE TRIGGER commit_only_once BEFORE INSERT ON commits
WHEN EXISTS (SELECT 1 FROM commits WHERE id = new.id)
BEGIN SELECT raise(ABORT, 'a commit is written once'); END;

CREATE TRIGGER request_only_once BEFORE INSERT ON request
WHEN EXISTS (SELECT 1 FROM request WHERE scope = new.scope AND key = new.key)
BEGIN SELECT raise(ABORT, 'a request is written once'); END;

-- The one change that the log allows: the data of an event that a tombstone names may be replaced by what carries the
-- digest that the tombstone keeps. Everything else of the row stays, and no row ever goes.
CREATE TRIGGER event_never_changes BEFORE UPDATE ON event
WHEN new.position IS NOT old.position OR new.type IS NOT old.type OR new.v IS NOT old.v OR new.stream IS NOT old.stream
  OR new.prev IS NOT old.prev OR new.at IS NOT old.at OR new."by" IS NOT old."by" OR new.cause IS NOT old.cause
  OR new.thread IS NOT old.thread OR new.pack IS NOT old.pack OR new.commit_id IS NOT old.commit_id OR new.n IS NOT old.n
  OR new.digest IS NOT old.digest
  OR old.stream = 'redactions'
  OR NOT EXISTS (
    SELECT 1 FROM event t
    WHERE t.stream = 'redactions' AND t.type = 'event:redacted'
      AND json_extract(t.data, '$.position') = old.position AND json_extract(t.data, '$.commit') = old.commit_id
      AND json_extract(t.data, '$.digest') = json_extract(new.data, '$.redacted'))
BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

CREATE TRIGGER event_never_goes BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_changes BEFORE UPDATE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_goes BEFORE DELETE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_changes BEFORE UPDATE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_goes BEFORE DELETE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
