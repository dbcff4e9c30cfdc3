"""The loop, presence, following: the shell around the core."""
