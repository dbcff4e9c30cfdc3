"""Carrying a log elsewhere and back: exports, imports, backups, and taking text out of it."""
