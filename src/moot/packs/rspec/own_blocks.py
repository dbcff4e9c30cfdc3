"""Which blocks of a spec file moot wrote itself, according to the log. All others belong to a person.

A passed attempt says what it left, and which methods it planned; its snapshot says what was there before. Followed from
the newest attempt to the oldest, each must have left exactly what the next one found. Where that is not so, somebody
edited the file in between, and nothing older counts. A block that a person kept is the person's until moot has written
it again.
"""

from __future__ import annotations

from moot.core.json_codec import loads
from moot.core.run import PASSED, SKIPPED
from moot.packs.rspec.agents import ARCHITECT, IMPLEMENTER
from moot.packs.rspec.architect import KEPT
from moot.packs.rspec.spec_blocks import blocks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.api.call import Call
    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Target


def written(call: Call, runs: Iterable[Run], target: Target) -> bytes | None:
    """The spec file without the blocks that are not moot's; None if somebody edited it since moot accepted it.

    `runs`: of the target's document.
    """
    from moot.pipelines import contents
    from moot.pipelines.contract import StageError

    path = target.paths["spec"][0]
    try:
        now = contents.read(target.root, (path,)).files.get(path)
    except StageError:  # not a file that moot wrote; the stage that reads it says what is wrong
        return None
    own = _own(call, runs, path, contents.digest(now))
    if now is None or own is None:
        return None
    blocks = blocks_of(now, target.parameters["discovery"]["class_name"]).blocks
    names = [block.name for block in blocks]
    for block in reversed(blocks):
        if block.name not in own or names.count(block.name) > 1:  # one of several was appended to a person's
            now = now[: block.group.start] + now[block.group.end :]
    return now


def _own(call: Call, runs: Iterable[Run], path: str, digest: str) -> set[str] | None:
    """The names of the blocks that moot wrote into the file with this digest; None if moot did not leave it so."""
    from moot.pipelines import contents

    own: set[str] | None = None
    decided: set[str] = set()
    for run, attempt in _attempts(runs, path):
        if attempt.outputs[f"file:{path}"] != digest:
            break
        own = own or set()
        if attempt.stage == ARCHITECT:
            planned = _planned(call, run, attempt)
            kept = {text.removesuffix(KEPT) for text in attempt.warnings if text.endswith(KEPT)}
            own |= planned - kept - decided
            decided |= planned | kept
        if path not in attempt.snapshots:  # there was no file before
            break
        digest = contents.digest(call.blob(attempt.snapshots[path]))
    return own


def _attempts(runs: Iterable[Run], path: str) -> Iterator[tuple[Run, StageTry]]:
    """The attempts that may have written the file and passed, newest first."""
    found = [
        (run, attempt)
        for run in runs
        for attempt in run.tries
        if attempt.stage in (ARCHITECT, IMPLEMENTER)
        and attempt.status in (PASSED, SKIPPED)
        and f"file:{path}" in attempt.outputs
    ]
    yield from sorted(found, key=lambda one: one[1].ended, reverse=True)


def _planned(call: Call, run: Run, attempt: StageTry) -> set[str]:
    """The blocks that an attempt at test-architect wrote. Those of earlier waves were finished, and left alone."""
    if not attempt.answer:
        return set()
    methods = loads(call.blob(attempt.answer).decode("utf-8"))["structure"]["methods"]
    done = run.parameters.get("done") or ()
    return {one["name"] for one in methods if one["name"][1:] not in done}
