"""The contract of an answer: what the last YAML block in the output of a stage's command says (`moot.runs.answers`).

status        success, error or skip
error         a text: with status error, and only then. `details` and `suggestion` may stand beside it
skip_reason   a text: with status skip, and only then
warnings      a list of texts
data          a mapping: what the stage hands to the next one
"""

from __future__ import annotations

from moot.pipelines.contract import StageError, StageOutput
from moot.runs.answers import NoAnswer, yaml_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.pipelines.contract import StageInput

_SUGGESTION = "It must end with a block of YAML, such as `status: success`."
STATUSES = ("success", "error", "skip")
_FOREIGN = {"skipped": "skip"}  # its meaning is certain


def answer_in(output: str) -> dict[str, Any]:
    """The answer in the output of a command. Raises `StageError`."""
    try:
        return yaml_answer(output)
    except NoAnswer as error:
        none = "cannot be read" not in str(error)
        raise StageError(str(error), suggestion=_SUGGESTION if none else "") from None


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
