"""What the agent command of a stage gets on standard input: task, target, paths, keys and the form of the answer."""

from __future__ import annotations

import os

from moot.core.json_codec import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.runs.contract import StageInput

_ANSWER = """\
## Answer

The files are your real output. End your answer with a YAML block in a fence, and nothing after it:

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


def prompt_of(given: StageInput) -> str:
    """The prompt of a stage."""
    return "\n".join(_lines(given))


def task_of(stage: str) -> str:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "data", "prompts.toml"), "rb") as file:
        return str(tomllib.load(file)[stage]["task"]).strip()


def _lines(given: StageInput) -> Iterator[str]:
    stage, target = given.stage, given.target
    yield f"# Stage {stage.said}: {target.said}"
    yield ""
    yield task_of(stage.name)
    yield ""
    yield "## Files"
    yield ""
    yield "Paths are relative to the current directory, the root of the project."
    for role in stage.reads:
        yield from (f"- {role} (read): {path}" for path in target.paths.get(role, ()))
    for role in stage.writes:
        yield from (f"- {role} (write): {path}" for path in target.paths.get(role, ()))
    if target.document is not None and "document" in stage.reads:
        yield f"- metadata document (read): {target.document.path}"
    owned = ", ".join((*stage.owns, *([stage.marker] if stage.marker else ())))
    yield f"- keys of the metadata document that you may set: {owned or 'none'}"
    yield "Change no other file and no other key: that fails the stage."
    yield ""
    if given.failure:
        yield from ("## What was wrong with the last attempt", "", given.failure, "")
    if given.document is not None:
        yield from ("## Metadata", "", "```json", dumps(dict(given.document)), "```", "")
    yield _ANSWER
