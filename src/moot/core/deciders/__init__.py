"""One module per kind of entity: its rules in words, its commands, its events, `decide`, `evolve` and its `Kind`.

Deciders never import each other; `moot.core.reactions` connects them.
"""
