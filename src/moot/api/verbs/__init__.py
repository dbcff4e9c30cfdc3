"""The verbs by subject. Each module declares its verbs (VERBS) and holds the functions that carry them out."""
