"""A lead works through a backlog of issues in waves, with one agent for each issue. `pack.toml` has the protocol."""
