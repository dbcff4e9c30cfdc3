"""Verbs about events that cause something: emitting, handling, allowing, and the effects themselves."""
