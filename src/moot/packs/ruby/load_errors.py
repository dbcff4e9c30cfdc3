"""Why RSpec could not load the tests, in its own words. Pure.

RSpec's JSON report has the errors of spec files. It has no word about a file that RSpec requires before them, such as a
spec helper in `.rspec`: that error is only in the text around the report.
"""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_BEGINNING = "An error occurred"
_ENDS = ("No examples found", "Finished in ", '{"version":', "Run options:")
_LINES = 30


def load_error(report: Mapping[str, Any], text: str) -> str:
    """The error, beginning with its class and message. `text`: everything that RSpec printed."""
    messages = [str(one).strip() for one in report.get("messages") or ()]
    said = "\n".join(one for one in messages if one and not one.startswith(_ENDS)) or _printed(text)
    first = _exception(said)
    return f"{first}\n{said}" if first else said or "an error outside of the examples"


def _printed(text: str) -> str:
    found: list[str] = []
    for line in text.splitlines():
        if found and line.startswith(_ENDS):
            break
        if found or line.startswith(_BEGINNING):
            found.append(line)
    return "\n".join(found[:_LINES]).strip()


def _exception(said: str) -> str:
    """`RuntimeError: no database`: the class is on a line of its own, and the message below it."""
    lines = [line.strip() for line in said.splitlines()]
    for line, below in pairwise(lines):
        name = line.removesuffix(":")
        if name != line and below and name[:1].isupper() and name.replace("::", "").replace("_", "").isalnum():
            return f"{line} {below}"
    return ""
