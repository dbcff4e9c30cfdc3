"""A team lead and a developer exchange tasks through two JSON mailboxes. `pack.toml` defines the protocol.

`rules` checks what the message schemas cannot express.
"""
