-- The chain. Each event keeps the digest of its data as it was first stored, which erasing the text does not change.
-- Each commit keeps the way it came in, and a hash over the commit before it, its own metadata and that of its events,
-- and their digests: see `moot.logs.sqlite.chain`. Whoever changes, moves or removes something by hand breaks it.

DROP TRIGGER event_never_changes;
DROP TRIGGER commit_never_changes;

ALTER TABLE event ADD COLUMN digest BLOB;
ALTER TABLE commits ADD COLUMN via TEXT;
ALTER TABLE commits ADD COLUMN hash BLOB;

-- do: compute the chain over the rows that are there

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

CREATE TRIGGER commit_never_changes BEFORE UPDATE ON commits BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
