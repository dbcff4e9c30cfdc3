"""What the command of a stage gets, its prompt, and the contract of its answer, which it has to hand back.

The answer is the last YAML block in its output (`moot.runs.answers`):

status        success, error or skip
error         a text: with status error, and only then. `details` and `suggestion` may stand beside it
skip_reason   a text: with status skip, and only then
warnings      a list of texts
data          a mapping: what the stage hands to the next one
"""

from __future__ import annotations

from moot.core.json_codec import dumps
from moot.runs.contract import StageError, StageOutput
from moot.runs.stage import ANSWER, DOCUMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.runs.contract import StageInput
    from moot.runs.stage import PipelinePack

STATUSES = ("success", "error", "skip")
_FOREIGN = {"skipped": "skip"}  # its meaning is certain
_CONTRACT = """\
End with a YAML block in a fence, and nothing after it:

```yaml
status: success
warnings: []
```

If you cannot do it, end with this instead:

```yaml
status: error
error: "what is wrong, in one line"
```
"""
_SKIP = """
If there is nothing to do, end with this instead:

```yaml
status: skip
skip_reason: "why, in one line"
```
"""


def prompt(pack: PipelinePack, given: StageInput) -> str:
    """The prompt of a stage whose pack has none of its own."""
    return "\n".join(_lines(pack, given))


def _lines(pack: PipelinePack, given: StageInput) -> Iterator[str]:
    stage, target = given.stage, given.target
    yield stage.task or f"Stage {stage.said} of {pack.title} for {target.said}."
    yield ""
    yield "The paths are relative to the current directory."
    for role in stage.reads:
        if role not in (DOCUMENT, ANSWER):
            yield from (f"Read the {role}: {path}" for path in target.paths.get(role, ()))
    for role in stage.writes:
        yield from (f"Write the {role}: {path}" for path in target.paths.get(role, ()))
    if target.document is not None and stage.owns:
        yield f"In {target.document.path}, change only: {', '.join(stage.owns)}"
    yield "Change no other file, and do not commit."
    for name, value in given.parameters.items():
        yield f"{name}: {value if isinstance(value, str) else dumps(value)}"
    if given.failure:
        yield from ("", "The last attempt failed. Correct what was wrong with it:", "", given.failure)
    if given.document is not None:
        yield from ("", "The document:", "", "```json", dumps(dict(given.document)), "```")
    if given.answer is not None:
        yield from ("", f"The answer of the stage {stage.after}:", "", "```json", dumps(dict(given.answer)), "```")
    if stage.answer == "yaml":
        yield from ("", _CONTRACT.rstrip(), *([_SKIP.rstrip()] if stage.skips else []), "")


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
