"""What keeps a log honest: hashes, checks of events from elsewhere, redaction, and the names of blobs."""
