"""The prompt of a stage: everything that a command needs to start, and what it has to hand back."""

from __future__ import annotations

from moot.core.json_codec import dumps
from moot.runs.stage import ANSWER, DOCUMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.runs.contract import StageInput
    from moot.runs.stage import PipelinePack

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
