"""Mirrors: the files of a protocol. moot renders them from the log, and absorbs what other programs write to them."""
