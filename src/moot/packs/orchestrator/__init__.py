"""A team lead and a developer who hand tasks to and fro through two JSON mailboxes: `pack.toml` is the protocol.

`rules` has what data cannot say about its messages.
"""
