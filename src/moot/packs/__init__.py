"""Protocols as data. Each folder is one pack: `pack.toml`, message schemas, and code for rules that data cannot state.

A pack depends on the contracts in `moot.api` and does no I/O.
"""
