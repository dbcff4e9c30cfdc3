"""Slugs: the names of documents. A slug is made from a source path, and never turned back into one."""

from __future__ import annotations

import os


def slug_of(path: str) -> str:
    """The slug of a source path: `app/services/payment.rb` gives `app_services_payment`."""
    return os.path.splitext(path)[0].replace("/", "_")


def matches_file(path: str, class_name: str) -> bool:
    """Whether a class has the name that its file has: PaymentProcessor in payment_processor.rb."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return stem.replace("_", "").lower() == class_name.rpartition("::")[2].replace("_", "").lower()
