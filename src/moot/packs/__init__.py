"""Protocols as data. Each folder is one: `pack.toml`, its message schemas, and the few rules that data cannot say.

A pack knows the core and nothing else; it does no I/O. Its data is read by `moot.api`.
"""
