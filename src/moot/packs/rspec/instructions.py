"""A free instruction of a person, interpreted by an agent: which methods does it mean?

The command is that of discovery-agent in `[run.rspec]` of moot.toml. It gets the methods and the instruction, and only
names methods that it was given; everything else in its answer is refused.
"""

from __future__ import annotations

import os

from moot.core.errors import Refused, Unavailable
from moot.packs.rspec.agents import DISCOVERY
from moot.packs.rspec.selection import INSTRUCTION, MethodChoice, items_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.handler import Handler
    from moot.place.processes import Ran

_PACK = "rspec"
_SHOWN = ("method_id", "source_file", "line_range", "method_mode", "selected")
_PROMPT = os.path.join(os.path.dirname(__file__), "briefs", "instruction.md")


def interpreted(call: Call, answer: Mapping[str, Any], instruction: str) -> MethodChoice:
    """The methods that the agent chose. Raises if there is no command, it fails, or its answer cannot be used."""
    ran = _ran(call, _command(call), prompt_of(answer, instruction))
    if ran.code or ran.timed_out:
        why = "it took too long" if ran.timed_out else f"exit code {ran.code}"
        raise _useless(why)
    return choice_in(answer, ran.output.tail.decode("utf-8", "replace"))


def prompt_of(answer: Mapping[str, Any], instruction: str) -> str:
    from moot.core.strict_yaml import dump

    methods = [{key: item[key] for key in _SHOWN} for item in items_of(answer)]
    with open(_PROMPT, encoding="utf-8") as file:
        return file.read().format(instruction=instruction, methods=dump({"methods": methods}).decode("utf-8"))


def choice_in(answer: Mapping[str, Any], output: str) -> MethodChoice:
    """What the output of the agent chooses."""
    from moot.pipelines.answers import answer_in
    from moot.pipelines.contract import StageError

    try:
        said = answer_in(output)
    except StageError as error:
        raise _useless(error.text) from error
    inner = said.get("data")
    data: Mapping[str, Any] = inner if isinstance(inner, dict) else said
    if said.get("status") != "success":
        raise _useless(str(said.get("error") or said.get("skip_reason") or "it has no status success")[:500])
    names, reason = data.get("selected"), data.get("reason")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _useless("data.selected is not a list of method ids")
    places = {item["method_id"]: place for place, item in enumerate(items_of(answer))}
    unknown = [name for name in names if name not in places]
    if unknown or not names:
        raise _useless(f"there is no method {unknown[0][:200]!r}" if unknown else "it chose no method")
    why = (
        " ".join(reason.split())[:200] if isinstance(reason, str) and reason.strip() else "left out by the instruction"
    )
    return MethodChoice(INSTRUCTION, chosen=frozenset(places[name] for name in names), reason=f"Custom: {why}")


def _command(call: Call) -> Handler:
    from moot.api.verbs.effects.allow import commands_of

    for one in commands_of(call):
        if (one.pack, one.stage) == (_PACK, DISCOVERY):
            return one
    raise Refused(
        "instruction_without_agent",
        f"An instruction needs an agent command that interprets it: moot.toml does not set run.{_PACK}.{DISCOVERY}.",
        "Set it. Or answer yes, all, cancel, patterns (`Payment#*`), numbers (`1 3-5`) or toggles "
        "(`+Payment#a -Payment#b`).",
    )


def _ran(call: Call, command: Handler, prompt: str) -> Ran:
    from moot.api.verbs.effects.allow import consent_of
    from moot.runs import commands
    from moot.runs.commands import granted

    def alive() -> None:
        try:
            call.stamp()
        except Unavailable:
            pass  # the command goes on

    own = {"MOOT_STAGE": DISCOVERY}
    given = commands.CommandInput(brief=prompt, env=call.env, own=own, alive=alive)
    try:
        return commands.run(granted(consent_of(call), command), given)
    except commands.CannotStart as error:
        raise _useless(str(error)) from error


def _useless(why: str) -> Refused:
    return Refused(
        "instruction_not_understood",
        f"The answer of {DISCOVERY} to the instruction cannot be used: {why}.",
        "Word the instruction differently, or answer yes, all, cancel, patterns (`Payment#*`) or numbers (`1 3-5`).",
    )
