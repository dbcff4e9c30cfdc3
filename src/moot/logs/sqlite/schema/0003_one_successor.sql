-- An event has one successor in its stream, and a stream one beginning: two writers can never both follow the same
-- event, whatever they believe to have read. The same index finds the events of a stream and its last one.

CREATE UNIQUE INDEX event_follows ON event (stream, prev);
DROP INDEX event_of_stream;
