"""The verbs of the pack: `moot specflow plan`, `write`, `gate` and others."""
