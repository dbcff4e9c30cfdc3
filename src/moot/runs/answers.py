"""Finds the structured answer of an agent in the output of its command: a JSON object, or a YAML mapping.

Agents quote: the prompt with its samples, an earlier message, a first draft. So the last block that claims to be the
answer decides. If that one cannot be read, there is no answer, whatever stands before it. Nothing is ever derived by
searching for words in the text.

    fenced    from a line of three or more backticks or tildes to such a line, or to the end of the output. Its language
              is `json`, `yaml`, `yml`, or none
    bare      outside of fences. JSON: the whole output. YAML: consecutive lines that look like it: `key:`, list items,
              indented lines, comments

A block with its language claims to be the answer if it cannot be read, because the agent may have meant it. If it can,
a YAML block claims it, and a JSON block if the caller says so (`claims`): usually by one key. Without a language, JSON
claims it only if it can be read, and YAML only with a line for its key, such as `status:`.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")
_LIKE_YAML = re.compile(r"\s|#|- |-$|---$|\.\.\.$|[A-Za-z_][\w.-]*:(\s|$)")


class NoAnswer(Exception):
    """There is none. The text says why."""


class _Block(Record):
    text: str
    language: str | None = None  # None: bare


def json_answer(text: str, claims: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The last JSON object in the text that claims to be the answer. Raises `NoAnswer`."""
    from moot.core import strict_json

    whole = text.strip()
    fenced = [block for block in _blocks(text) if block.language is not None]
    for block in reversed(fenced or ([_Block(whole, "")] if whole.startswith("{") else [])):
        if block.language not in ("", "json"):
            continue
        try:
            found = strict_json.load(block.text.encode("utf-8", "replace"))
        except strict_json.TornJson as error:
            if block.language:
                raise NoAnswer(f"the last JSON block of the output cannot be read: {error}") from None
            continue
        if isinstance(found, dict) and claims(found):
            return found
    raise NoAnswer("the output has no JSON block with the answer" if whole else "the output is empty")


def yaml_answer(text: str, key: str = "status") -> dict[str, Any]:
    """The last YAML mapping in the text that claims to be the answer. Raises `NoAnswer`."""
    from moot.core import strict_yaml

    claims = re.compile(rf"(?m)^{re.escape(key)}:(\s|$)")
    for block in reversed(list(_blocks(text))):
        if block.language in ("yaml", "yml") or (not block.language and claims.search(block.text)):
            try:
                return strict_yaml.load_mapping(block.text.encode("utf-8", "replace"))
            except strict_yaml.TornYaml as error:
                raise NoAnswer(f"the last YAML block of the output cannot be read: {error}") from None
    raise NoAnswer("the output has no YAML block with an answer" if text.strip() else "the output is empty")


def last_block(text: str) -> str:
    """The last block of a text: what stands in the fence at its end, or its last paragraph."""
    lines = text.replace("\r\n", "\n").strip().split("\n")
    fenced = len(lines) > 1 and _FENCE.fullmatch(lines[-1]) is not None
    block: list[str] = []
    for line in reversed(lines[:-1] if fenced else lines):
        if _FENCE.fullmatch(line) or (not fenced and not line.strip()):
            break
        block.insert(0, line)
    return "\n".join(block).strip()


def _blocks(text: str) -> Iterator[_Block]:
    """The fenced blocks and the bare ones, in order."""
    opening, language, lines = "", "", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        match = _FENCE.fullmatch(line)
        if match and (not opening or (match[2] and not language)):  # a bare fence may end a block that was cut off
            if not opening:
                yield _Block("\n".join(lines))
            opening, language, lines = match[1], match[2].lower(), []
        elif match and not match[2] and match[1][0] == opening[0] and len(match[1]) >= len(opening):
            yield _Block("\n".join(lines), language)
            opening, language, lines = "", "", []
        elif opening or not line or _LIKE_YAML.match(line):
            lines.append(line)
        else:
            yield _Block("\n".join(lines))
            lines = []
    yield _Block("\n".join(lines), language if opening else None)
