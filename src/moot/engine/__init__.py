"""The commit loop and the services around it: presence, blobs, search, verification and cleanup."""
