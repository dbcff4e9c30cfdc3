"""Mirrors: the files of a protocol, rendered from the log and absorbed back when somebody else writes them."""
