"""The answer of an agent: checked, and in one normal form.

    status       success, error or skip; discovery-agent also stop
    data         what the agent found, with success. The keys may also stand at the top level, for every agent
    error        a text, exactly with status error; then also `details` and `suggestion`
    skip_reason  a text, exactly with status skip
    reason       exactly with status stop
    automation   the agent's own marker

Every problem names the path of its key, as the agent wrote it. Knows no files and no engine.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.core.schema import placed
from moot.core.schema.phrases import pointed
from moot.core.text import counted, one_line
from moot.packs.rspec.agents import ANALYZER, DISCOVERY, own_marks, snake, without_debug
from moot.packs.rspec.schemas import answer_schema
from moot.packs.rspec.structure import structure_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

SUCCESS, ERROR, SKIP, STOP = "success", "error", "skip", "stop"
STOP_REASONS = ("red_zone_new_code", "user_cancelled")
_TEXTS = ("error", "skip_reason", "details", "suggestion", "reason", "message")
_ENVELOPE = frozenset(("status", "data", "automation", *_TEXTS))
_DUE = {ERROR: "error", SKIP: "skip_reason", STOP: "reason"}
_ONLY_WITH = {"error": ERROR, "details": ERROR, "suggestion": ERROR, "skip_reason": SKIP, "reason": STOP}


class AgentAnswer(Record):
    """An answer in normal form. `warnings`: what was read differently from how it was written."""

    agent: str
    status: str
    data: Mapping[str, Any] = {}
    error: str = ""
    details: str = ""
    suggestion: str = ""
    skip_reason: str = ""
    reason: str = ""
    message: str = ""
    automation: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The answer as the next agent gets it: in the general shape, without debug-only fields."""
        texts = {key: getattr(self, key) for key in _TEXTS if getattr(self, key)}
        data = {"data": without_debug(dict(self.data))} if self.status == SUCCESS else {}
        return {"status": self.status, **data, **texts}


class AnswerProblem(Record):
    path: str
    text: str

    @property
    def sentence(self) -> str:
        return f"{self.path or 'the answer'}: {self.text}"


def read_answer(agent: str, value: object) -> AgentAnswer:
    """The answer in normal form. Raises `bad_answer` with all problems."""
    if not isinstance(value, dict):
        raise bad_answer(agent, [AnswerProblem("", f"expected a map with `status`, found {_kind(value)}")])
    given = {key: item for key, item in value.items() if item is not None}
    status, warnings = given.get("status"), []
    if status == "skipped":
        status = SKIP
        warnings.append("status: `skipped` was read as `skip`")
    problems = [*_envelope_problems(agent, given, status)]
    data, at_top, clashes = _collected(given)
    problems += clashes
    problems += _data_problems(agent, status, data, at_top)
    problems += _marker_problems(agent, given.get("automation"))
    if problems:
        raise bad_answer(agent, problems)
    texts = {key: given.get(key, "") for key in _TEXTS}
    marks = given.get("automation", {})
    return AgentAnswer(agent, str(status), data=data, automation=marks, warnings=tuple(warnings), **texts)


def bad_answer(agent: str, problems: Iterable[AnswerProblem]) -> Refused:
    found = list(problems)
    said = one_line(found[0].sentence, 300) if len(found) == 1 else counted(len(found), "problem")
    return Refused(
        "bad_answer",
        f"The answer of {agent} is not valid: {said}.",
        "Correct the agent's instructions, then start the stage again. The whole output is kept with the run.",
        agent=agent,
        problems=[{"path": problem.path, "text": problem.text} for problem in found],
    )


def _envelope_problems(agent: str, given: Mapping[str, Any], status: object) -> Iterator[AnswerProblem]:
    valid = (SUCCESS, ERROR, SKIP, STOP) if agent == DISCOVERY else (SUCCESS, ERROR, SKIP)
    if "status" not in given:
        yield AnswerProblem("status", f"is missing; expected {', '.join(valid)}")
    elif status not in valid:
        yield AnswerProblem("status", f"expected {', '.join(valid)}, found {given['status']!r:.80}")
    for key in _TEXTS:
        if key in given and (not isinstance(given[key], str) or not given[key].strip()):
            yield AnswerProblem(key, f"expected a text, found {_kind(given[key])}")
    due = _DUE.get(str(status))
    if due and due not in given:
        yield AnswerProblem(due, f"is missing; status {status} requires it")
    if status in valid:
        for key, only in _ONLY_WITH.items():
            if key in given and status != only:
                yield AnswerProblem(key, f"belongs to status {only}, and the status is {status}")
    if status == STOP and given.get("reason") not in (None, *STOP_REASONS):
        yield AnswerProblem("reason", f"expected {' or '.join(STOP_REASONS)}, found {given['reason']!r:.80}")


def _collected(given: Mapping[str, Any]) -> tuple[dict[str, Any], set[str], list[AnswerProblem]]:
    """The data from both places, which keys stood at the top level, and what stands in both with different values."""
    top = {key: item for key, item in given.items() if key not in _ENVELOPE}
    data = given.get("data", {})
    if not isinstance(data, dict):
        return top, set(top), [AnswerProblem("data", f"expected a map, found {_kind(data)}")]
    clashes = [
        AnswerProblem(str(key), f"is both at the top level and in data.{key}, with different values")
        for key in top
        if key in data and data[key] != top[key]
    ]
    return {**data, **top}, {key for key in top if key not in data}, clashes


def _data_problems(agent: str, status: object, data: dict[str, Any], at_top: set[str]) -> Iterator[AnswerProblem]:
    if status != SUCCESS:
        if data and status in (ERROR, SKIP):
            key = next(iter(data))
            path = key if key in at_top else f"data.{key}"
            yield AnswerProblem(str(path), f"belongs to status success, and the status is {status}")
        return

    def where(place: tuple[Any, ...]) -> str:
        return pointed(place if place and place[0] in at_top else ("data", *place))

    found = placed(answer_schema(agent), data)
    for place, defect in found:
        if len(place) == 1 and place[0] not in _known(agent):
            yield AnswerProblem(where(place), f"{agent} does not write this key")
        else:
            yield AnswerProblem(where(place), f"expected {defect.expected}, found {defect.found}")
    if not found:
        if agent == ANALYZER:
            for index, method in enumerate(data["methods"]):
                if "test_config" in method:
                    yield AnswerProblem(where(("methods", index, "test_config")), f"{agent} does not write this key")
        if "structure" in data:
            for place, text in structure_problems(data["structure"]):
                yield AnswerProblem(where(("structure", *place)), text)


def _known(agent: str) -> Mapping[str, Any]:
    known: Mapping[str, Any] = answer_schema(agent)["$defs"][agent]["properties"]
    return known


def _marker_problems(agent: str, marks: object) -> Iterator[AnswerProblem]:
    if marks is None:
        return
    if not isinstance(marks, dict):
        yield AnswerProblem("automation", f"expected a map, found {_kind(marks)}")
        return
    name = snake(agent)
    for key, value in marks.items():
        if key not in own_marks(agent):
            yield AnswerProblem(f"automation.{key}", f"{agent} does not write this key")
        elif key == f"{name}_completed" and value is not True:
            yield AnswerProblem(f"automation.{key}", f"expected true, found {value!r:.80}")
        elif key == f"{name}_version" and not isinstance(value, str):
            yield AnswerProblem(f"automation.{key}", f'expected a string such as "1.0", found {value!r:.80}')


def _kind(value: object) -> str:
    words = {dict: "a map", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing" if value is None else words.get(type(value), type(value).__name__)
