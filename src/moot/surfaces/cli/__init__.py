"""The command `moot`."""
