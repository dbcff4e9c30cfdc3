"""rspec-v1 path, dir, validate, cache, stages, rules and contract: what can be asked without a run."""

from __future__ import annotations

import json
import os

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.errors import Refused, Unknown, Usage
from moot.core.record import Record
from moot.core.text import bullets
from moot.packs.rspec_v1 import shipped
from moot.packs.rspec_v1.locating import PACK, locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.packs.rspec_v1.caching import CacheVerdict
    from moot.packs.rspec_v1.locating import Location

WARNED = 2
_SOURCE = Param("path", "The source file.", positional=True, required=True)


class DocumentVerdict(Record):
    """Whether a metadata document is valid."""

    valid: bool
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    metadata_path: str


class MetadataCache(Record):
    """Whether the document of a source can be used again. `step`: that of the check that failed, from 1 to 5."""

    valid: bool
    metadata_path: str
    reason: str | None
    step: int = 0
    cached_mtime: int | None = None
    current_mtime: int | None = None


def path(call: Call, path: str) -> Answer:
    found = locate(call, path, quiet=True).document_file
    return Answer(result=found, say=(found,))


def directory(call: Call, path: str) -> Answer:
    found = locate(call, path, quiet=True).folder
    return Answer(result=found, say=(found,))


# --- validate --------------------------------------------------------------------------------------------------------


def validate(call: Call, path: str) -> Answer:
    """A metadata file: whether it is valid. A source file: whether its cached document is."""
    if not path.endswith((".yml", ".yaml")):
        found = cache_state(call, path)
        shown = {"valid": found.valid, "metadata_path": found.metadata_path, "reason": found.reason}
        return Answer(result=found, say=(json.dumps(shown),))
    return _validated(os.path.normpath(os.path.join(call.cwd, path)))


def _validated(whole: str) -> Answer:
    from moot.core import strict_yaml
    from moot.packs.rspec_v1 import places
    from moot.packs.rspec_v1.validation import validate as judged
    from moot.packs.ruby.regular_files import read_regular

    try:
        document = strict_yaml.load(read_regular(whole, strict_yaml.LARGEST + 1)[0])
    except OSError as error:
        raise Unknown("no_such_file", f"Metadata file not found: {whole}", "Check the path.") from error
    except strict_yaml.TornYaml as error:
        raise Refused(
            "metadata_unreadable",
            f"Invalid metadata format in {whole}: {error}",
            "Correct it, restore it with `moot doc restore`, or re-run rspec-analyzer.",
        ) from error
    root = places.find_root(whole) or os.path.dirname(whole)
    verdict = judged(document, exists=lambda name: os.path.isfile(os.path.join(root, name)))
    if not verdict.valid:
        raise Refused(
            "metadata_invalid",
            f"Invalid metadata format in {whole}",
            "\n".join(("Re-run rspec-analyzer.", *bullets(verdict.errors))),
            errors=list(verdict.errors),
        )
    found = DocumentVerdict(valid=True, errors=(), warnings=verdict.warnings, metadata_path=whole)
    shown = json.dumps(found.full(), separators=(",", ":"), ensure_ascii=False)
    return Answer(result=found, say=(shown,), code=WARNED if verdict.warnings else 0)


# --- cache -----------------------------------------------------------------------------------------------------------


def cache(call: Call, path: str, detail: bool) -> Answer:
    found = cache_state(call, path)
    lines = ["VALID" if found.valid else "INVALID"]
    if detail:
        lines.append(f"metadata: {found.metadata_path}")
        if not found.valid:
            lines.append(f"step {found.step}: {_steps()[found.step - 1]}: {found.reason}")
        lines.append(f"cached mtime: {_mtime(found.cached_mtime)}, current mtime: {_mtime(found.current_mtime)}")
    return Answer(result=found, say=tuple(lines))


def _mtime(value: int | None) -> str:
    return "none" if value is None else str(value)


def _steps() -> tuple[str, ...]:
    from moot.packs.rspec_v1.caching import STEPS

    return STEPS


def cache_state(call: Call, path: str) -> MetadataCache:
    """The state of the cache for a source file. Raises if it does not exist, or is not Ruby."""
    location = locate(call, path, quiet=True)
    if not os.path.isfile(location.project.absolute):
        raise Unknown("no_such_file", f"Source file not found: {path[:200]}", "Check the path.", path=path[:200])
    verdict = _verdict(call, path, location)
    return MetadataCache(
        valid=verdict.valid,
        metadata_path=location.document_file,
        reason=verdict.reason,
        step=verdict.step,
        cached_mtime=verdict.cached_mtime,
        current_mtime=verdict.current_mtime,
    )


def _verdict(call: Call, path: str, location: Location) -> CacheVerdict:
    from moot.packs.rspec_v1.caching import AnalysisTarget
    from moot.packs.rspec_v1.requests import has_document, request_at
    from moot.packs.rspec_v1.sessions import cache_verdict, foreign_document, remembered, verdict_on

    if has_document(call, path):
        request = request_at(call, path)
        return cache_verdict(request, remembered(call, request))
    return verdict_on(location, AnalysisTarget(file=location.project.source), foreign_document(location), None)


# --- data ------------------------------------------------------------------------------------------------------------


def stages(call: Call) -> Answer:
    pack = next(one for one in call.packs.packs if one.name == PACK)
    found = [stage.full() for stage in pack.stages]
    return Answer(result=found, say=(json.dumps(found, indent=2),))


def rules(_call: Call) -> Answer:
    found = list(shipped.rules())
    return Answer(result=found, say=tuple(f"{one.number:2} {one.severity:6} {one.title}" for one in found))


def contract(call: Call, part: str | None) -> Answer:
    parts: dict[str, Any] = {**shipped.contract(), "schema": shipped.schema(), "stages": stages(call).result}
    if part is not None and part not in parts:
        raise Usage("unknown_part", f"There is no part {part!r}.", f"Parts: {', '.join(parts)}.")
    found = parts if part is None else parts[part]
    return Answer(result=found, say=(json.dumps(found, indent=2, ensure_ascii=False),))


def _verb(word: str, summary: str, does: Any, *params: Param, founds: bool = True) -> Verb:
    example = f"moot rspec-v1 {word}{' app/services/payment_service.rb' if _SOURCE in params else ''}"
    return Verb(
        f"{PACK} {word}",
        summary,
        does,
        kind="look",
        writes=False,
        protocol=True,
        founds=founds,
        params=params,
        examples=(example,),
    )


PATH = _verb("path", "Print the path of the metadata document of a source file.", path, _SOURCE)
DIR = _verb("dir", "Print the directory of the metadata documents of a source file.", directory, _SOURCE)
VALIDATE = _verb(
    "validate",
    "Check a metadata file; or, for a source file, whether its cached document is valid.",
    validate,
    Param("path", "The metadata file, or the source file.", positional=True, required=True),
)
CACHE = _verb(
    "cache",
    "Say whether the cached document of a source file is VALID or INVALID.",
    cache,
    _SOURCE,
    Param("detail", "Also which step of the check failed, and both mtimes.", type="flag"),
)
STAGES = _verb("stages", "Print the declarations of the eight stages as JSON.", stages, founds=False)
RULES = _verb("rules", "List the 28 rules of the review.", rules, founds=False)
CONTRACT = _verb(
    "contract",
    "Print the shipped data as JSON: schema, exit codes, stages, path and cache rules.",
    contract,
    Param("part", "One of: exit_code, path, cache_step, schema, stages.", positional=True),
    founds=False,
)
