"""The answer of a stage's command (`moot.runs.answers`), as the stages of this package take it."""

from __future__ import annotations

from moot.runs.answers import NoAnswer, yaml_answer
from moot.runs.contract import StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SUGGESTION = "It must end with a block of YAML, such as `status: success`."


def answer_in(output: str) -> dict[str, Any]:
    """The answer in the output of a command. Raises `StageError`."""
    try:
        return yaml_answer(output)
    except NoAnswer as error:
        none = "cannot be read" not in str(error)
        raise StageError(str(error), suggestion=_SUGGESTION if none else "") from None
