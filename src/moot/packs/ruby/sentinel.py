"""Whether the examples of a method pass, and whether they test it: shown by running them, not by reading them.

The examples run as they are. Those that pass run once more while their method returns an unmistakable object; those
that still pass run again while it does nothing. What passes then, too, tests nothing.

"The method" is what the class answers to the name of the block, `#pay` or `.pay`: also one that is private, inherited,
delegated or from a prepended module, and `initialize`, whose result `new` does not use. It is replaced in the class, so
a stub of it in the spec still wins. It is replaced while the whole group runs, with its hooks: a `before` that calls it
is part of the test. But an error there, or while a `let` or `subject` is built, says nothing about the example: it goes
on, and what could not be built is the replacement itself. An expectation in a hook does not count, except of messages
to be received. An example that only says what is not done to others (`not_to change`, `receive`, `have_received`)
always passes: it must have called the method, and is listed in a warning. `not_to raise_error` does not count here.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import one_line
from moot.packs.ruby.rspec_runs import NOTHING, SENTINEL, run_rspec
from moot.packs.ruby.spec_words import SHARED_GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from moot.packs.ruby.rspec_runs import ExampleRun, Program
    from moot.packs.ruby.spec_tree import Example, Group

TESTED, PASSED, QUIET = "tested", "passed", "quiet"
_WIDTH = 400
_OWN = ("spec/", "tmp/", "(eval")  # the method under test is never defined here


class Failure(Record):
    """`location` is empty if the file could not be loaded."""

    description: str
    location: str
    message: str

    @property
    def line(self) -> int:
        return int(self.location.rpartition(":")[2] or 0)

    @property
    def place(self) -> str:
        return f"{self.description} ({self.location})" if self.location else self.description

    @property
    def said(self) -> str:
        return f"{self.description}: {one_line(self.message, _WIDTH)}"


class SpecVerdict(Record):
    """What a spec is worth. `empty`: examples that pass and test nothing. `doubts`: warnings."""

    examples: int = 0
    failures: tuple[Failure, ...] = ()
    empty: tuple[Failure, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures and not self.empty


def try_spec(program: Program, root: str, path: str, blocks: Sequence[Group]) -> SpecVerdict:
    """Test the blocks of methods in a spec file. Raises `NoResult`."""
    first = run_rspec(program, root, path, [one.line for one in blocks])
    if first.trouble:
        return SpecVerdict(failures=(Failure("the spec file cannot be loaded", "", first.trouble),))
    names = {one.line: str(one.text) for one in blocks}
    runs = [one for one in first.examples if one.block in names]
    failures = [*_failures(runs, names, path), *_missing(runs, blocks, path)]
    failed = {one.location for one in failures}
    passed = [one for one in runs if one.status == "passed" and one.place not in failed]
    empty, doubts = [], []
    for one, outcomes in _replaced(program, root, path, passed):
        name = names[one.block]
        if TESTED in outcomes:
            continue
        if QUIET in outcomes:
            doubts.append(f"{one.description}: it only says what `{name}` does not do ({one.place})")
        else:
            said = f"it tests nothing: it passes when `{name}` returns any other object, or does nothing"
            empty.append(Failure(one.description, one.place, said))
    return SpecVerdict(len(runs), tuple(failures), tuple(empty), tuple(doubts))


def _failures(runs: Iterable[ExampleRun], names: Mapping[int, str], path: str) -> Iterator[Failure]:
    """The examples that did not pass, or whose pass is none."""
    for one in runs:
        source, line = one.defined
        message = ""
        if one.status == "failed":
            message = one.message or "failed"
        elif one.status == "pending":
            message = f"it did not run: {one.message or 'it is pending'}"
        elif one.failed:
            message = "it failed, and a hook took the failure back"
        elif not one.owned:
            message = f"`{names[one.block]}` cannot be replaced: its group names no class"
        elif source == path or source.startswith(_OWN):
            message = f"it tests its own replacement of `{names[one.block]}` ({source}:{line})"
        elif not one.expectations:
            message = "it passed, and executed no expectation"
        if message:
            yield Failure(one.description, one.place, message)


def _missing(runs: Sequence[ExampleRun], blocks: Iterable[Group], path: str) -> Iterator[Failure]:
    """Examples in the source that did not run, and methods without any."""
    for block in blocks:
        own = [one for one in runs if one.block == block.line]
        if not own:
            yield Failure(str(block.text), f"{path}:{block.line}", "no example of it ran")
            continue
        for one in _examples(block):
            if not any(run.path == path and one.line <= run.line <= one.last for run in own):
                yield Failure(f"{block.text} {one.text or ''}".strip(), f"{path}:{one.line}", "RSpec did not run it")


def _examples(group: Group) -> Iterator[Example]:
    """Without those of shared groups, which only run where they are included."""
    yield from group.examples
    for inner in group.groups:
        if inner.kind not in SHARED_GROUPS:
            yield from _examples(inner)


def _replaced(
    program: Program, root: str, path: str, runs: Sequence[ExampleRun]
) -> Iterator[tuple[ExampleRun, list[str]]]:
    """What becomes of examples while their method is replaced, with each replacement that it takes."""
    outcomes: dict[str, list[str]] = {one.id: [] for one in runs}
    limit = 5 + 10 * max((one.seconds for one in runs), default=0.0)
    for method in (SENTINEL, NOTHING):
        left = [one for one in runs if not {TESTED, QUIET} & {*outcomes[one.id]}]
        lines = sorted({one.block for one in left})
        found = run_rspec(program, root, path, lines, method, limit).examples if left else ()
        again = {one.id: one for one in found}
        for one in left:
            outcomes[one.id].append(_outcome(again.get(one.id)))
    return ((one, outcomes[one.id]) for one in runs)


def _outcome(run: ExampleRun | None) -> str:
    if run is None or not run.failed:
        return QUIET if run is not None and run.quiet else PASSED
    return TESTED
