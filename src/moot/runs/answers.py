"""Finds the structured answer in the output of an agent: a JSON object in a fenced block, or the whole output.

Agents quote: the brief with its samples, an earlier message, a first draft. So the last block that claims to be the
answer decides. If that one cannot be read, or is not what was asked for, there is no answer, whatever stands before it.
Nothing is ever derived by searching for words in the text.

    - A block starts at a line of three or more backticks or tildes, and ends at such a line or with the output.
    - Its language is `json`, or none.
    - It claims to be the answer if the caller says so (`claims`): usually by one key. A `json` block that is not valid
      JSON claims it too, because the agent may have meant it as its answer.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)

from moot.core import strict_json
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")


class NoAnswer(Exception):
    """There is none. The text says why."""


class _Block(Record):
    language: str
    text: str


def answer_in(text: str, claims: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The last JSON object in the text that claims to be the answer. Raises `NoAnswer`."""
    whole = text.strip()
    blocks = list(_blocks(text)) or ([_Block("", whole)] if whole.startswith("{") else [])
    for block in reversed(blocks):
        if block.language not in ("", "json"):
            continue
        try:
            found = strict_json.load(block.text.encode("utf-8", "replace"))
        except strict_json.TornJson as error:
            if block.language == "json":
                raise NoAnswer(f"the last JSON block of the output cannot be read: {error}") from None
            continue
        if isinstance(found, dict) and claims(found):
            return found
    raise NoAnswer("the output has no JSON block with the answer" if whole else "the output is empty")


def _blocks(text: str) -> Iterator[_Block]:
    """The fenced blocks, in order. One that is not closed ends with the text."""
    opening, language, lines = "", "", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        match = _FENCE.fullmatch(line)
        if match and match[2] and not language:  # also after a bare fence: it closes a block whose start was cut off
            opening, language, lines = match[1], match[2].lower(), []
        elif not opening:
            if match:
                opening, lines = match[1], []
        elif match and not match[2] and match[1][0] == opening[0] and len(match[1]) >= len(opening):
            yield _Block(language, "\n".join(lines))
            opening = language = ""
        else:
            lines.append(line)
    if opening:
        yield _Block(language, "\n".join(lines))
