"""How much of a file goes into one commit. The rest goes into the next one."""

MOST = 2_000  # new entries
FULL = 8_500  # events after which no more entries are taken: a commit can have 10,000, and closers add to them
