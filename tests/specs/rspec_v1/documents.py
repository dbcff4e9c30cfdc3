"""Metadata documents for the tests."""

from __future__ import annotations

import copy
from typing import Any

PAYMENT: dict[str, Any] = {
    "analyzer": {
        "completed": True,
        "timestamp": "2025-11-07T10:30:00Z",
        "source_file_mtime": 1699351530,
        "version": "1.0",
    },
    "validation": {"completed": True, "errors": [], "warnings": []},
    "test_level": "unit",
    "target": {
        "class": "PaymentService",
        "method": "process_payment",
        "method_type": "instance",
        "file": "app/services/payment_service.rb",
        "uses_models": True,
    },
    "characteristics": [
        {
            "name": "user_authenticated",
            "type": "binary",
            "states": ["authenticated", "not_authenticated"],
            "default": None,
            "depends_on": None,
            "when_parent": None,
            "level": 1,
        },
        {
            "name": "payment_method",
            "type": "enum",
            "states": ["card", "paypal", "bank_transfer"],
            "default": None,
            "depends_on": "user_authenticated",
            "when_parent": "authenticated",
            "level": 2,
        },
        {
            "name": "balance",
            "type": "range",
            "states": ["sufficient", "insufficient"],
            "default": None,
            "depends_on": "payment_method",
            "when_parent": "card",
            "level": 3,
        },
    ],
    "factories_detected": {"user": {"file": "spec/factories/users.rb", "traits": ["admin"]}},
    "automation": {"analyzer_completed": True, "errors": [], "warnings": []},
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The sample document with one value replaced. A part of the path may be the index of a list."""
    document = copy.deepcopy(PAYMENT)
    parts = [int(part) if part.isdigit() else part for part in path.split(".")]
    at: Any = document
    for part in parts[:-1]:
        at = at[part]
    at[parts[-1]] = value
    return document


def without(path: str) -> dict[str, Any]:
    """The sample document without one key."""
    document = copy.deepcopy(PAYMENT)
    parts = [int(part) if part.isdigit() else part for part in path.split(".")]
    at: Any = document
    for part in parts[:-1]:
        at = at[part]
    del at[parts[-1]]
    return document
