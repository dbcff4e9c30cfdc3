"""What RSpec reports of an example besides its status, and why a pass may not be one. See `watching.rb`.

An example has not passed if no failure was possible while it ran, if its failure was taken back, or if it tested its
own replacement of the method under test. Pure; the report itself is a file beside this module.
"""

from __future__ import annotations

import os

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.ruby.vacuity import Vacuity
    from moot.place.processes import Ran

    Place = tuple[str, int]  # a path, relative to the project if it is below it, and a line

COUNTING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counting.rb")
REPORT = "Moot::CountingReport"
_STUBS = "/rspec/mocks/"
_INSTALLED = ("/gems/", "/ruby/")  # parts of the paths of libraries
_UNGUARDED = ("tmp/", "log/", "coverage/", ".")  # folders of a project in which anybody may leave a file unseen


class TestedMethod(Record):
    """The method that an example is about: places of its definitions.

    defined: those that were in effect while the example ran. called: those that ran in it. outside: those that ran
    before or between examples. replied: a stub or a double was called by this name.
    """

    name: str
    defined: tuple[Place, ...] = ()
    called: tuple[Place, ...] = ()
    outside: tuple[Place, ...] = ()
    replied: bool = False


class WatchedExample(Record):
    """What was seen. `expectations`: how many were executed; None if nobody counted. `changed`: methods of RSpec."""

    expectations: int | None = None
    can_fail: bool = True
    changed: tuple[str, ...] = ()
    cleared: bool = False
    tested: TestedMethod | None = None


def formats(counting: str) -> list[str]:
    """The arguments of RSpec for a report as JSON. `counting`: the file of moot's own report; empty for RSpec's."""
    return ["--require", counting, "--format", REPORT] if counting else ["--format", "json"]


def lacks_counting(ran: Ran) -> bool:
    """Whether RSpec could not load the report that counts: it may run where moot's files are not, in a container."""
    said = ran.errors.tail + ran.output.tail[-4096:]
    return ran.code != 0 and (b"cannot load such file -- " + COUNTING.encode() in said or REPORT.encode() in said)


def watched(example: Mapping[str, Any]) -> WatchedExample:
    """What the report says of an example."""
    counted, tested = example.get("expectations"), example.get("tested")
    return WatchedExample(
        expectations=counted if isinstance(counted, int) else None,
        can_fail=example.get("can_fail") is not False,
        changed=tuple(_changed(one) for one in example.get("changed") or ()),
        cleared=example.get("cleared") is True,
        tested=_tested(tested) if isinstance(tested, dict) else None,
    )


def _changed(entry: list[Any]) -> str:
    name, *place = entry
    return f"`{name}` ({':'.join(map(str, place))})" if place else f"`{name}`"


def _tested(found: Mapping[str, Any]) -> TestedMethod:
    places = {
        key: tuple((str(path), int(line)) for path, line in found.get(key) or ())
        for key in ("defined", "called", "outside")
    }
    return TestedMethod(name=str(found.get("name", "")), replied=found.get("replied") is True, **places)


def why_untested(
    runs: Sequence[WatchedExample], doubt: Vacuity | None, source: str, written: Collection[str]
) -> tuple[str, bool]:
    """Why an example tested nothing although it passed, and whether that is certain; empty if it tested something.

    `runs`: what was seen of it, once for each time that it ran. `doubt`: what its source shows.
    """
    if doubt is not None and doubt.certain:
        return f"it tests nothing: {doubt.reason}", True
    seen = [found for one in runs for found in _doubts(one, source, written)]
    if found := next((one for one in seen if one[1]), None):
        return found
    counts = [one.expectations for one in runs]
    if 0 in counts:
        said = "it passed, and no expectation was executed"
        return (f"{said}; {doubt.reason}", False) if doubt is not None and doubt.out_of_sight else (said, True)
    if doubt is not None and not all(counts):
        return doubt.reason, False
    return seen[0] if seen else ("", True)


def _doubts(example: WatchedExample, source: str, written: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Why an example that passed may have tested nothing, each with whether that is certain.

    `source`: the file of the tested method. `written`: the files that a stage may have written.
    """
    if example.changed:
        yield f"while it ran, the spec had replaced {', '.join(example.changed[:3])} of RSpec", True
    elif not example.can_fail:
        yield "no expectation could fail while it ran", True
    if example.cleared:
        yield "it failed, and a hook took the failure back", True
    if example.tested is not None:
        yield from _of_method(example.tested, source, written)


def _of_method(tested: TestedMethod, source: str, written: Collection[str]) -> Iterator[tuple[str, bool]]:
    paths = {path for path, _ in tested.defined}
    real = source in {path for path, _ in tested.called}
    replaced = [one for one in tested.defined if _is_written(one[0], written, known=source in paths)]
    if replaced:
        path, line = replaced[0]
        yield f"it tests its own replacement of `{tested.name}` ({path}:{line})", True
    elif real:
        return
    elif elsewhere := next((one for one in tested.defined if _is_unguarded(one[0], source)), None):
        yield f"it runs another `{tested.name}` ({elsewhere[0]}:{elsewhere[1]}), and never that of {source}", True
    elif any(_STUBS in path for path in paths) or (tested.replied and source in paths):
        yield f"it calls a stub of `{tested.name}`, and never the method itself", True
    elif source in paths and source not in {path for path, _ in tested.outside}:
        yield f"it never runs `{tested.name}`", False


def _is_written(path: str, written: Collection[str], *, known: bool) -> bool:
    """Whether a definition comes from one of these files; `known`: the source has another one."""
    return path in written or (path.startswith("(eval") and (known or any(f"/{one}:" in path for one in written)))


def _is_unguarded(path: str, source: str) -> bool:
    """Whether a definition comes from a file that neither the project nor a library has under control."""
    if path.startswith("/"):
        return path != source and not any(part in path for part in _INSTALLED)
    return path != source and path.startswith(_UNGUARDED)
