"""Verbs about messages: sending, the inbox, mailboxes of roles, and held entries."""
