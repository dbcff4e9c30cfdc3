"""Protects the content of a log: hashes, redaction, references to blobs."""
