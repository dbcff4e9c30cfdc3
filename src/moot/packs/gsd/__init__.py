"""Agents that execute numbered plans coordinate by events on a shared blackboard. `pack.toml` defines the protocol.

An event comes over a surface (`moot emit`, `moot gsd emit`), through a file, or from a verb of moot itself. It is
checked, decided on moot's own kinds (tasks, artifacts, claims, decisions, checkpoints), posted to the feed `feed/gsd`,
and handled by the built-in handlers, all in one commit:

    ids              how the protocol writes plans, tasks and decisions
    typed_events     an event as somebody types it
    checks           whether an event is valid, and what can be filled in
    telling          one event on its way into the log: its flags, rows and number
    tasks            which run of a task an event starts or ends, and what it means for the task
    taking           takes a valid event into the log; artifacts, claims, decisions and checkpoints have modules
    handlers         the built-in handlers, and which of them are switched on
    echo             events for what moot's own verbs have decided
    sources, plans   the files that moot only reads
    needs            the artifacts that a plan waits for
    rows             the lists of the feed, as of the events decided so far in a commit
    status           tasks, claims, waiting plans, decisions and artifacts, as the log knows them

The lists of the feed (`moot.views.feeds.rows`), by key:

    tasks            by task id: its latest run
    claims           by path; `artifacts` by path; `decisions` by id
    active_agents, completed_tasks, completed_plans, blocked_plans, current_phase, last_commit, errors
                     what `shared-context.json` and `errors.json` show
"""
