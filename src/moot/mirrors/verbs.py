"""pack check, pack adopt: check the files of packs without changing anything, and take over existing ones."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.core.errors import Refused, Unknown
from moot.core.text import counted, one_line
from moot.mirrors import pack_check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.api.protocol.pack_files import FileProblem

_PROBLEMS = 6  # the exit code if there is a problem


def check(call: Call, name: str | None) -> Answer:
    found = pack_check.check(call, _named(call, name))
    rows = tuple((_where(call, one), one_line(_said(one), 1000), one_line(one.remedy, 500)) for one in found.problems)
    lines = [f"{where}: {said}{f' → {remedy}' if remedy else ''}" for where, said, remedy in rows]
    wrong = sum(not one.note for one in found.problems)
    lines += [
        f"{one.path} does not exist; the next command writes it." for one in found.files if one.state == "missing"
    ]
    bad = {(one.worktree, one.file) for one in found.problems if one.file and not one.note}
    checked = counted(len(bad.union((one.worktree, one.path) for one in found.files)), "file")
    lines.append(f"{counted(wrong, 'problem')}; {len(bad)} of {checked} bad." if wrong else f"{checked}, no problems.")
    table = Table(("file", "problem", "remedy"), rows, title="Problems") if rows else None
    return Answer(result=found, say=tuple(lines), table=table, code=_PROBLEMS if wrong else 0)


def adopt(call: Call, name: str | None) -> Answer:
    _named(call, name)
    if call.mirrors is None:
        raise Refused("no_packs", "No active pack has files.", "Activate one: `moot init --pack NAME`.")
    found = call.mirrors.adopt(call)
    lines = [f"Taken over: {found.said}." if found.said else "Nothing to take over: the log has everything."]
    lines += ["`moot held` shows what is held, and why."] if found.held else []
    return Answer(result=found, say=tuple(lines))


def _named(call: Call, name: str | None) -> tuple[str, ...]:
    known = tuple(pack.name for pack in call.packs.packs)
    if not known:
        raise Refused("no_packs", "No pack is active.", "Activate one: `moot init --pack NAME`.")
    if name is not None and name not in known:
        raise Unknown("unknown_pack", f"The pack {name[:80]!r} is not active.", f"Active: {', '.join(known)}.")
    return known if name is None else (name,)


def _where(call: Call, problem: FileProblem) -> str:
    """The position as compilers write it: `path:line:column`."""
    here = problem.worktree in ("", call.place.root)
    path = problem.file if here else f"{problem.worktree}/{problem.file}"
    at = f":{problem.line}:{problem.column}" if problem.line else ""
    return f"{one_line(path, 500)}{at}" if path else f"pack {problem.pack}"


def _said(problem: FileProblem) -> str:
    said = f"{problem.place}: {problem.message}" if problem.place else problem.message
    return f"note: {said}" if problem.note else said


VERBS = (
    Verb(
        "pack check",
        "Check the files of packs, and every entry in them. Changes nothing.",
        check,
        kind="look",
        params=(Param("name", "The pack. Default: all active packs.", positional=True),),
        examples=("moot pack check",),
        detail=(
            "Each problem comes with its file, line and column. New entries are tried as the next command would take "
            "them: a message about an unknown task is a problem, too. Files in the wrong place are reported with the "
            "right path. Nothing is taken into the log, and no file is written. The exit code is 0 without problems, "
            "otherwise 6; a note is not a problem."
        ),
        writes=False,
        quiet=True,
        past=False,
    ),
    Verb(
        "pack adopt",
        "Take over the files of packs that agents have used without moot.",
        adopt,
        kind="person",
        params=(Param("name", "The pack. Default: all active packs.", positional=True),),
        examples=("moot pack adopt", "moot pack adopt NAME"),
        detail=(
            "`moot init --pack` and every later command do this, too; here you see what was taken over. What cannot be "
            "accepted is held, and a file that cannot be parsed is quarantined. A second run changes nothing."
        ),
        syncs=False,
    ),
)
