-- The read models of one workspace. Everything here follows from the log.

CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;

-- The state of whole entities (agents, tasks, held entries, the claims), as their decider folds it. It can be long, and
-- in a table without rowids a search for one stream would read all of each row that it compares.
CREATE TABLE entity (
  stream  TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  state   TEXT NOT NULL
) STRICT;

-- Tasks again, by what the board and `ready` ask for.
CREATE TABLE task (
  id      TEXT PRIMARY KEY,
  number  INTEGER NOT NULL,          -- of ids like task-007, else 0
  phase   TEXT NOT NULL,
  state   TEXT NOT NULL,
  blocked INTEGER NOT NULL,
  rank    INTEGER NOT NULL,
  created INTEGER NOT NULL,          -- position of task:added
  holder  TEXT,
  assigned TEXT,                     -- the agent that alone can claim it, in lower case, while it is open
  origin  TEXT,                      -- the item of a plan that it was added from
  unreviewed INTEGER NOT NULL        -- an agent added it without review
) STRICT, WITHOUT ROWID;
CREATE INDEX task_number ON task (number);
CREATE INDEX task_ready ON task (rank, created) WHERE phase = 'open' AND blocked = 0;
CREATE INDEX task_stopped ON task (state, created) WHERE phase = 'stopped';
CREATE INDEX task_phase ON task (phase, state, blocked, created);
CREATE INDEX task_holder ON task (holder) WHERE holder IS NOT NULL;
CREATE INDEX task_unreviewed ON task (unreviewed, created) WHERE unreviewed = 1;
CREATE INDEX task_origin ON task (origin) WHERE origin IS NOT NULL;
CREATE INDEX task_assigned ON task (assigned, rank, created) WHERE assigned IS NOT NULL;

-- Artifacts, dependencies, decisions and checkpoints again, by what is listed: what is still open, what belongs to a task.
CREATE TABLE thing (
  kind    TEXT NOT NULL,
  id      TEXT NOT NULL,
  open    INTEGER NOT NULL,
  created INTEGER NOT NULL,          -- position of its first event
  task    TEXT,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX thing_created ON thing (kind, created);
CREATE INDEX thing_open ON thing (kind, created) WHERE open = 1;
CREATE INDEX thing_task ON thing (task, created) WHERE task IS NOT NULL;

CREATE TABLE edge (
  task  TEXT NOT NULL,
  needs TEXT NOT NULL,
  PRIMARY KEY (task, needs)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_needs ON edge (needs);

-- Position and commit of a message are a cursor: the views go as far as the last one, or as meta says if that is later.
CREATE TABLE message (
  position INTEGER PRIMARY KEY,
  commit_id TEXT NOT NULL,
  id       TEXT NOT NULL UNIQUE,
  thread   TEXT NOT NULL,
  kind     TEXT NOT NULL,
  sender   TEXT NOT NULL,
  task     TEXT,
  attempt  INTEGER,
  body     TEXT NOT NULL
) STRICT;
-- Most messages are alone in the thread that is named after them, and are found by their id.
CREATE INDEX message_thread ON message (thread, position) WHERE thread <> id;
CREATE INDEX message_task ON message (task, position) WHERE task IS NOT NULL;
CREATE INDEX message_kind ON message (kind, position) WHERE attempt IS NOT NULL;

-- One message at one recipient. `mailbox` is in lower case. What is not settled comes last, so that it stands together.
CREATE TABLE delivery (
  mailbox    TEXT NOT NULL,
  position   INTEGER NOT NULL,       -- of message:sent
  message    TEXT NOT NULL,
  wants      TEXT NOT NULL,
  typed      INTEGER NOT NULL,       -- a message type of a pack, and so in a protocol's file until cleared
  open       INTEGER NOT NULL,
  seen       TEXT NOT NULL DEFAULT '[]',
  taker      TEXT,
  reply      TEXT,
  ended      TEXT,
  hidden     TEXT,
  offered_at TEXT,
  ended_at   TEXT,
  expires    REAL,                   -- seconds since 1970: new until then
  PRIMARY KEY (open, mailbox, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_wanted ON delivery (position) WHERE open = 1 AND wants <> 'nothing';
CREATE INDEX delivery_shown ON delivery (mailbox, position) WHERE typed = 1 AND hidden IS NULL;
CREATE INDEX delivery_expires ON delivery (mailbox, expires) WHERE open = 1 AND expires IS NOT NULL;

-- What is open in a mailbox, counted whenever a delivery changes, so that nobody's new messages are counted one by one.
-- New to a reader is what is `open`, less what it has `seen`, less what others have `taken`. What was taken counts as
-- seen only for its taker, so that nothing is subtracted twice.
CREATE TABLE unread (
  mailbox TEXT NOT NULL,
  part    TEXT NOT NULL,             -- open, `seen PRINCIPAL`, `taken AGENT` (in lower case)
  count   INTEGER NOT NULL,
  PRIMARY KEY (mailbox, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE mailbox (
  name      TEXT PRIMARY KEY,
  version   INTEGER NOT NULL,
  last_read TEXT
) STRICT, WITHOUT ROWID;

-- Every time of a last read that a mailbox ever showed: what stands in a stale copy is told from news by it.
CREATE TABLE read_mark (
  mailbox TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (mailbox, value)
) STRICT, WITHOUT ROWID;

-- Effects that are not done, by what their runners ask for.
CREATE TABLE effect (
  id      TEXT PRIMARY KEY,
  handler TEXT NOT NULL,
  status  TEXT NOT NULL,             -- waiting, taken, parked
  due     REAL NOT NULL              -- seconds since 1970: not before
) STRICT, WITHOUT ROWID;
CREATE INDEX effect_due ON effect (handler, status, due);
CREATE INDEX effect_taken ON effect (id) WHERE status = 'taken';

-- The entries of a feed, each with its text as the file shows it.
CREATE TABLE feed_entry (
  feed     TEXT NOT NULL,
  number   INTEGER NOT NULL,
  position INTEGER NOT NULL,
  at       REAL NOT NULL,            -- seconds since 1970: when it arrived
  text     TEXT NOT NULL,
  about    TEXT NOT NULL,            -- what the file does not show: flags, source, handlers, cause
  PRIMARY KEY (feed, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_entry_at ON feed_entry (feed, at, number);

-- What entries are found by.
CREATE TABLE feed_key (
  feed   TEXT NOT NULL,
  key    TEXT NOT NULL,
  value  TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (feed, key, value, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE feed_print (
  feed   TEXT NOT NULL,
  print  TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (feed, print, number)
) STRICT, WITHOUT ROWID;

-- The lists that follow from a feed. A row keeps its place until it is dropped.
CREATE TABLE feed_row (
  feed     TEXT NOT NULL,
  list     TEXT NOT NULL,
  key      TEXT NOT NULL,
  position INTEGER NOT NULL,
  text     TEXT NOT NULL,
  PRIMARY KEY (feed, list, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_row_order ON feed_row (feed, list, position);

CREATE TABLE feed_note (
  feed     TEXT NOT NULL,
  position INTEGER NOT NULL,
  who      TEXT NOT NULL,
  at       TEXT NOT NULL,
  text     TEXT NOT NULL,
  PRIMARY KEY (feed, position)
) STRICT, WITHOUT ROWID;

-- What happened in a pack, each with its sentence: the lines of a journal.
CREATE TABLE journal (
  pack     TEXT NOT NULL,
  position INTEGER NOT NULL,
  at       TEXT NOT NULL,
  who      TEXT NOT NULL,
  type     TEXT NOT NULL,
  task     TEXT,
  text     TEXT NOT NULL,
  was      TEXT,                     -- what the sentence does not say, and can change later
  PRIMARY KEY (pack, position)
) STRICT, WITHOUT ROWID;
