-- The one change that the log allows: the data of an event that a tombstone names may be replaced by what carries the
-- digest that the tombstone keeps. Everything else of the row stays, and no row ever goes.

DROP TRIGGER event_never_changes;

CREATE TRIGGER event_never_changes BEFORE UPDATE ON event
WHEN new.position IS NOT old.position OR new.type IS NOT old.type OR new.v IS NOT old.v OR new.stream IS NOT old.stream
  OR new.prev IS NOT old.prev OR new.at IS NOT old.at OR new."by" IS NOT old."by" OR new.cause IS NOT old.cause
  OR new.thread IS NOT old.thread OR new.pack IS NOT old.pack OR new.commit_id IS NOT old.commit_id OR new.n IS NOT old.n
  OR old.stream = 'redactions'
  OR NOT EXISTS (
    SELECT 1 FROM event t
    WHERE t.stream = 'redactions' AND t.type = 'event:redacted'
      AND json_extract(t.data, '$.position') = old.position AND json_extract(t.data, '$.commit') = old.commit_id
      AND json_extract(t.data, '$.digest') = json_extract(new.data, '$.redacted'))
BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
