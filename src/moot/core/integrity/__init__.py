"""Protects the content of a log: hashes, checks of imported events, redaction, references to blobs."""
