"""The catalogue of verbs, workspaces and calls, answers, and what a pack is. Every surface is built on it."""
