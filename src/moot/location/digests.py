"""SHA-256 without hashlib, which loads OpenSSL: that takes longer than the rest of a command."""

from __future__ import annotations


def sha256(data: bytes) -> str:
    """The digest in hexadecimal."""
    for name in ("_sha2", "_sha256"):  # since Python 3.12, and before
        try:
            return str(__import__(name).sha256(data).hexdigest())
        except (ImportError, AttributeError):
            continue
    import hashlib

    return hashlib.sha256(data).hexdigest()
