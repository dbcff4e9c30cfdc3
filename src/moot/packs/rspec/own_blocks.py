"""Which blocks of a spec file moot wrote itself, according to the log. All others belong to a person.

A passed attempt says what it left, and which methods it planned; its snapshot says what was there before. Followed from
the newest attempt to the oldest, each must have left exactly what the next one found. Where that is not so, somebody
edited the file in between: blocks that are still as moot left them stay moot's, and all others are the person's. One
that a person kept is the person's until moot has written it again. The decision to keep it holds until the block or the
source changes.
"""

from __future__ import annotations

from moot.core.json_codec import loads
from moot.core.run import PASSED, SKIPPED
from moot.packs.rspec.agents import ARCHITECT, IMPLEMENTER
from moot.packs.rspec.spec_blocks import block_digests, blocks_of

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
    from moot.pipelines.contract import StageError
    from moot.runs import contents

    path = target.paths["spec"][0]
    try:
        now = contents.read(target.root, (path,)).files.get(path)
    except StageError:  # not a file that moot wrote; the stage that reads it says what is wrong
        return None
    class_name = str(target.parameters["discovery"]["class_name"])
    own = _own(call, list(_attempts(runs, path)), path, now, class_name) if now is not None else None
    if now is None or own is None:
        return None
    blocks = blocks_of(now, class_name).blocks
    names = [block.name for block in blocks]
    for block in reversed(blocks):
        if block.name not in own or names.count(block.name) > 1:  # one of several was appended to a person's
            now = now[: block.group.start] + now[block.group.end :]
    return now


def _own(call: Call, attempts: list[tuple[Run, StageTry]], path: str, data: bytes, class_name: str) -> set[str] | None:
    """The names of the blocks that moot wrote into the file with this content; None if moot did not leave it so.

    `attempts`: newest first.
    """
    from moot.runs import contents

    own: set[str] | None = None
    decided: set[str] = set()
    while attempts:
        same = [at for at, (_, one) in enumerate(attempts) if one.outputs[f"file:{path}"] == contents.digest(data)]
        attempts = attempts[same[0] if same else 0 :]  # what was put back since does not count
        (run, attempt), *attempts = attempts
        if not same:
            left = _left(call, attempt, path)
            if left is None:
                break
            before, now = block_digests(left, class_name), block_digests(data, class_name)
            decided |= {name for name, one in now.items() if before.get(name) != one}
        own = own or set()
        if attempt.stage == ARCHITECT:
            planned = _planned(call, run, attempt)
            own |= planned - decided
            decided |= planned
        if path not in attempt.snapshots:  # there was no file before
            break
        data = call.blob(attempt.snapshots[path])
    return own


def _left(call: Call, attempt: StageTry, path: str) -> bytes | None:
    """The file as an attempt left it; None if the log does not have it."""
    found = attempt.left.get(path) or attempt.snapshots.get(path)
    return call.blob(found) if found and found == attempt.outputs[f"file:{path}"] else None


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
