"""rspec-v1 versions: every version of a spec file that a stage has left, and what changed between two of them.

What somebody else has made of it is a version, too, as soon as a stage that may write the file has begun with it.
"""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.errors import MootError, Unknown
from moot.core.record import Record
from moot.packs.rspec_v1.locating import PACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.packs.rspec_v1.requests import Request

EDITED = "edited"  # in the place of a stage: by a person, or by the run of another method
_LARGEST = 64 << 20


class SpecVersion(Record):
    """A version of the spec file. `examples` is None if it cannot be parsed, or is no longer stored.

    `stage` is the one that left it, or `edited`.
    """

    number: int
    stage: str
    run: str
    at: str
    digest: str
    examples: int | None


def versions(call: Call, path: str, show: int | None, diff: int | None) -> Answer:
    from moot.packs.rspec_v1.requests import request_at

    request = request_at(call, path)
    found = list(_versions(call, request))
    if show is not None:
        text = _text(call, request, _numbered(found, show))
        return Answer(result=text, say=tuple(text.splitlines()))
    if diff is not None:
        return _compared(call, request, _numbered(found, diff), _numbered(found, diff + 1))
    lines = [f"{one.number} {one.digest[:12]} {one.stage} {one.at}, {one.examples} examples" for one in found]
    return Answer(result=found, say=tuple(lines) or ("No stage has written the spec file yet.",))


def _versions(call: Call, request: Request) -> Iterator[SpecVersion]:
    """Each change of the file, oldest first: by a stage that passed, or by somebody else before a stage began."""
    from moot.core.run import PASSED
    from moot.runs.history import runs_of

    spec, number, last = request.location.spec, 0, ""
    left = set[str]()  # also by stages that did not pass
    for run in reversed(runs_of(call.engine.read(), request.target.id)):
        for one in run.tries:
            before, after = one.snapshots.get(spec, ""), one.outputs.get(f"file:{spec}", "")
            found = [(EDITED, one.at, before)] if before not in ("", last, *left) else []
            found += [(one.stage, one.ended, after)] if one.status == PASSED and after not in ("", "-") else []
            left.add(after)
            for stage, at, digest in found:
                if digest != last:
                    number, last = number + 1, digest
                    yield SpecVersion(number, stage, run.id, at, digest, _examples(_data(call, request, digest)))


def _data(call: Call, request: Request, digest: str) -> bytes | None:
    """The content with this digest: from the log, or the file as it is now."""
    from hashlib import sha256

    from moot.packs.ruby.regular_files import read_regular

    try:
        return call.blob(digest)
    except MootError:
        pass
    try:
        data, _ = read_regular(os.path.join(request.location.project.root, request.location.spec), _LARGEST)
    except OSError:
        return None
    return data if sha256(data).hexdigest() == digest else None


def _examples(data: bytes | None) -> int | None:
    from moot.packs.ruby.spec_tree import parse_spec

    if data is None:
        return None
    try:
        return len(list(parse_spec(data).examples()))
    except MootError:
        return None


def _numbered(found: list[SpecVersion], number: int) -> SpecVersion:
    for one in found:
        if one.number == number:
            return one
    raise Unknown("no_such_version", f"There is no version {number}.", f"There are {len(found)}.", version=number)


def _text(call: Call, request: Request, one: SpecVersion) -> str:
    data = _data(call, request, one.digest)
    if data is None:
        raise Unknown(
            "version_gone",
            f"The content of version {one.number} is no longer stored.",
            "Other versions can be shown; `moot verify` checks what is stored.",
        )
    return data.decode("utf-8", "replace")


def _compared(call: Call, request: Request, one: SpecVersion, other: SpecVersion) -> Answer:
    from difflib import unified_diff

    before, after = (_text(call, request, version).splitlines() for version in (one, other))
    first, second = (f"version {version.number} ({version.stage})" for version in (one, other))
    lines = list(unified_diff(before, after, first, second, lineterm=""))
    return Answer(result=lines, say=tuple(lines) or ("No difference.",))


VERSIONS = Verb(
    f"{PACK} versions",
    "List the versions of the spec file: stage, digest and number of examples.",
    versions,
    kind="look",
    writes=False,
    protocol=True,
    founds=True,
    params=(
        Param("path", "The spec file, the source file, or the metadata file.", positional=True, required=True),
        Param("show", "Print this version instead.", type="int"),
        Param("diff", "Compare this version with the next one instead.", type="int"),
    ),
    examples=("moot rspec-v1 versions spec/services/payment_service_spec.rb",),
)
