"""Protocols as data. Each folder is one pack: `pack.toml`, message schemas, and the few rules that need code.

A pack depends on the contracts in `moot.api` and does no I/O.
"""
