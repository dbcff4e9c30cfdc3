-- The log: events in one total order, the commits that brought them, the requests that must not happen twice.
-- All three are append-only; the triggers keep every program to that, not only ours.

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
    n         INTEGER NOT NULL
) STRICT;

-- An index ends with the row id, which is the position: this is an index on (stream, position).
CREATE INDEX event_of_stream ON event (stream);

CREATE TABLE commits (
    id    TEXT    PRIMARY KEY,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL
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

CREATE TRIGGER event_never_changes BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER event_never_goes BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_changes BEFORE UPDATE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER commit_never_goes BEFORE DELETE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_changes BEFORE UPDATE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER request_never_goes BEFORE DELETE ON request BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
