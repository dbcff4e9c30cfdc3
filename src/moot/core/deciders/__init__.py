"""One module per kind of entity: its rules in words, its commands, its events, `decide` and `evolve`.

Deciders never import each other; `moot.core.reactions` says what follows from what.
"""
