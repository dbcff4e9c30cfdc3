"""Implementations of the contract in `moot.log`, one folder each. They never import each other."""
