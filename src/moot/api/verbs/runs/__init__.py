"""Verbs about runs: running the agents or the stages of a pack, and looking at what came of it."""
