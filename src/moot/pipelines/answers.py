"""Finds the answer of an agent in what its command wrote, and reads it.

An answer is a YAML mapping, fenced or bare. Agents quote: the prompt with its sample, an earlier draft, a part of the
document. So only the last block counts; if it cannot be read, there is no answer, whatever stands before it.

    fenced    between lines of three or more backticks or tildes. Its language is `yaml` or `yml`, or none
    bare      consecutive lines outside of fences that look like YAML: `key:`, list items, indented lines, comments

A bare block, or a fenced one without a language, counts only if one of its keys is `status`. The contract:

    status        success, error or skip
    error         a text: with status error, and only then. `details` and `suggestion` may stand beside it
    skip_reason   a text: with status skip, and only then
    warnings      a list of texts
    data          a mapping: what the stage hands to the next one
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)

from moot.core.record import Record
from moot.pipelines.contract import StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.pipelines.contract import StageInput

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")
_LIKE_YAML = re.compile(r"\s|#|- |-$|---$|\.\.\.$|[A-Za-z_][\w.-]*:(\s|$)")
_STATUS = re.compile(r"(?m)^status:(\s|$)")
_YAML = ("yaml", "yml")
STATUSES = ("success", "error", "skip")
_FOREIGN = {"skipped": "skip"}  # its meaning is certain


class _Block(Record):
    text: str
    language: str | None = None  # None: bare


def last_block(output: str) -> str | None:
    """The text of the last block that is an answer; None if there is none."""
    found = [block for block in _blocks(output.replace("\r\n", "\n")) if _counts(block)]
    return found[-1].text if found else None


def _counts(block: _Block) -> bool:
    if block.language in _YAML:
        return True
    return block.language in (None, "") and _STATUS.search(block.text) is not None


def _blocks(output: str) -> Iterator[_Block]:
    """The fenced blocks and the bare ones, in order. A fence that is not closed ends with the output."""
    opening, language, lines = "", "", list[str]()
    for line in output.split("\n"):
        match = _FENCE.fullmatch(line)
        if opening:
            if match and not match[2] and match[1][0] == opening[0] and len(match[1]) >= len(opening):
                yield _Block("\n".join(lines), language)
                opening, lines = "", []
            else:
                lines.append(line)
        elif match:
            yield _Block("\n".join(lines))
            opening, language, lines = match[1], match[2].lower(), []
        elif not line or _LIKE_YAML.match(line):
            lines.append(line)
        else:
            yield _Block("\n".join(lines))
            lines = []
    yield _Block("\n".join(lines), language if opening else None)


def answer_in(output: str) -> dict[str, Any]:
    """The answer in the output of a command. Raises `StageError`."""
    text = last_block(output)
    if text is None:
        text = "the output has no YAML block with an answer" if output.strip() else "the output is empty"
        raise StageError(text, suggestion="It must end with a block of YAML, such as `status: success`.")
    return _parsed(text)


def _parsed(text: str) -> dict[str, Any]:
    from moot.core import strict_yaml

    try:
        return strict_yaml.load_mapping(text.encode("utf-8", "replace"))
    except strict_yaml.TornYaml as error:
        raise StageError(f"the last YAML block of the output cannot be read: {error}") from None


def output_of(given: StageInput, answer: Mapping[str, Any]) -> StageOutput:
    """What an answer says. Raises `StageError` if it reports an error, or breaks the contract."""
    status, noted = answer.get("status"), tuple[str, ...]()
    if status in _FOREIGN:
        noted, status = (f"status {status!r} was read as {_FOREIGN[str(status)]!r}",), _FOREIGN[str(status)]
    known = STATUSES if given.stage.skips else STATUSES[:2]
    if status not in known:
        raise StageError(f"invalid answer: status: expected {', '.join(known)}, got {_short(status)}")
    for key, due in (("error", "error"), ("skip_reason", "skip")):
        _check_text(answer, key, due=status == due, status=str(status))
    for key in ("details", "suggestion"):
        if key in answer and not isinstance(answer[key], str):
            raise StageError(f"invalid answer: {key}: expected a text, got {_short(answer[key])}")
    warnings = answer.get("warnings", [])
    if not isinstance(warnings, list) or not all(isinstance(one, str) for one in warnings):
        raise StageError(f"invalid answer: warnings: expected a list of texts, got {_short(warnings)}")
    if status == "error":
        raise StageError(answer["error"], details=answer.get("details", ""), suggestion=answer.get("suggestion", ""))
    data = answer.get("data", {})
    if not isinstance(data, dict):
        raise StageError(f"invalid answer: data: expected a mapping, got {_short(data)}")
    skip = str(answer.get("skip_reason", "")) if status == "skip" else ""
    return StageOutput(warnings=(*noted, *warnings), skip=skip, answer=data)


def _check_text(answer: Mapping[str, Any], key: str, *, due: bool, status: str) -> None:
    found = answer.get(key)
    if not due and key in answer:
        raise StageError(f"invalid answer: {key}: not allowed with status {status}")
    if due and (not isinstance(found, str) or not found.strip()):
        raise StageError(f"invalid answer: {key}: expected a text with status {status}, got {_short(found)}")


def _short(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
