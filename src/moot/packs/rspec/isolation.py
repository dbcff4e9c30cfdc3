"""isolation-decider: at which level each selected method is tested, and what is real, stubbed or unused there.

Signals, from the analysis of the method:
    database   a setup of type model, a cache side effect, or a dependency on a class below app/models
    http       an external_api side effect, or a dependency on an HTTP client
    queue      an event, webhook or email side effect, or a dependency on a class below app/jobs or app/mailers
    pure       none of them

Rules, in this order:
    a library is tested at the level unit, whatever its signals
    a pure method is unit, and nothing is isolated
    a method of a controller is request, of a job or worker integration
    a method that uses the database, and is long, complex or has several dependencies, is integration
    every other method is unit

Pure: gets the document and the type of the project, returns the configurations with their traces.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec.agents import is_selected, selection_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

LEVELS = ("unit", "integration", "request")
HTTP_CLIENTS = frozenset(("HTTP", "Net::HTTP", "HTTParty", "Faraday", "RestClient", "HTTPClient"))
_QUEUED = frozenset(("event", "webhook", "email"))
_WEB = ("roda", "hanami", "sinatra", "grape")
_LONG = 20  # lines
_REAL, _STUBBED, _NONE = "real", "stubbed", "none"


class Decisions(Record):
    """`methods`: all methods, the selected ones with `test_config`. `unclear`: names of those with low confidence."""

    methods: list[dict[str, Any]]
    unclear: tuple[str, ...]


class _Signals(Record):
    database: bool
    http: bool
    queue: bool
    why: tuple[str, ...]

    @property
    def pure(self) -> bool:
        return not (self.database or self.http or self.queue)


def project_type(names: Iterable[str], gems: Iterable[str], configured: str = "auto") -> str:
    """The type of a project: from the names of the files in its root, and its gems."""
    if configured not in ("", "auto"):
        return configured
    used = frozenset(gems)
    if any(name.endswith(".gemspec") for name in names):
        return "library"
    if "rails" in used:
        return "rails"
    return "web" if used.intersection(_WEB) else "service"


def gems_of(gemfile: str, lock: str) -> frozenset[str]:
    """The gems that `Gemfile` and `Gemfile.lock` name."""
    import re

    named = re.findall(r"""^\s*gem[\s(]+["']([\w.-]+)["']""", gemfile, re.MULTILINE)
    locked = re.findall(r"^ {4}([\w.-]+) \(", lock, re.MULTILINE)
    return frozenset((*named, *locked))


def decide(
    document: Mapping[str, Any], project: str, answer: str = "", author: str = "", classes: Mapping[str, str] = {}
) -> Decisions:
    """Decide for all selected methods. `answer`: the level that the caller chose.

    `classes`: the kinds of the project's classes, see `project_classes`.
    """
    methods, unclear = [], []
    for index, method in enumerate(document.get("methods") or ()):
        if not is_selected(document, method):
            methods.append(method)
            continue
        check_mode(method, index)
        signals = _signals(method, classes)
        config = _config(document, method, project, signals)
        if answer:
            config = _answered(config, signals, answer, author)
        if config["confidence"] == "low":
            unclear.append(method["name"])
        methods.append({**method, "test_config": config})
    return Decisions(methods, tuple(unclear))


def check_mode(method: Mapping[str, Any], index: int) -> None:
    """Raise if a method has no `method_mode`: nothing can be decided for it."""
    if method.get("method_mode") not in ("new", "modified", "unchanged"):
        raise Refused(
            "no_method_mode",
            f"methods[{index}].method_mode: the method {method.get('name')} has no method_mode.",
            "Run code-analyzer again: it takes the mode from methods_to_analyze.",
            method=method.get("name"),
        )


def _config(document: Mapping[str, Any], method: Mapping[str, Any], project: str, signals: _Signals) -> dict[str, Any]:
    zone = document["complexity"]["zone"]
    lines = _lines(document, method)
    kind = file_type(document["source_file"], document["class_name"])
    trace = [f"project type: {project}", f"file type: {kind}", f"zone: {zone}", f"lines: {lines}", *signals.why]
    level, rule = _level(project, kind, signals, _heavy(method, zone, lines))
    trace.append(f"rule: {rule}")
    confidence, reasons = _confidence(signals, zone, kind)
    trace += [f"confidence: {reason}" for reason in reasons]
    isolation = _isolation(level, signals)
    trace += [f"isolation: {name} {state}" for name, state in isolation.items()]
    return {"test_level": level, "isolation": isolation, "confidence": confidence, "decision_trace": trace}


def _signals(method: Mapping[str, Any], classes: Mapping[str, str]) -> _Signals:
    why: list[str] = []
    characteristics, effects = method.get("characteristics") or (), method.get("side_effects") or ()
    models = [one["name"] for one in characteristics if (one.get("setup") or {}).get("type") == "model"]
    caches = [one["behavior_id"] for one in effects if one["type"] == "cache"]
    why += [f"signal: database, {name} is set up by a model" for name in models]
    why += [f"signal: database, cache side effect {name}" for name in caches]
    calls = [one["behavior_id"] for one in effects if one["type"] == "external_api"]
    used = method.get("dependencies") or ()
    records = [name for name in used if classes.get(name) == "model"]
    clients = [name for name in used if name in HTTP_CLIENTS]
    jobs = [name for name in used if classes.get(name) == "queue"]
    why += [f"signal: database, it uses the model {name}" for name in records]
    why += [f"signal: http, external_api side effect {name}" for name in calls]
    why += [f"signal: http, it uses the HTTP client {name}" for name in clients]
    queued = [(one["type"], one["behavior_id"]) for one in effects if one["type"] in _QUEUED]
    why += [f"signal: queue, {kind} side effect {name}" for kind, name in queued]
    why += [f"signal: queue, it uses {name}" for name in jobs]
    if not why:
        why.append("signal: pure")
    return _Signals(bool(models or caches or records), bool(calls or clients), bool(queued or jobs), tuple(why))


def file_type(source: str, name: str) -> str:
    """What kind of class a file defines: controller, job or other."""
    folders = source.split("/")[:-1]
    if "controllers" in folders or name.endswith("Controller"):
        return "controller"
    if not {"jobs", "workers"}.isdisjoint(folders) or name.endswith(("Job", "Worker")):
        return "job"
    return "other"


def _lines(document: Mapping[str, Any], method: Mapping[str, Any]) -> int:
    entry = selection_of(document, method) or {}
    first, last = entry.get("line_range") or (1, 1)
    return int(last - first + 1)


def _heavy(method: Mapping[str, Any], zone: str, lines: int) -> str:
    """Why a method that uses the database needs a real one; empty if it does not."""
    if lines > _LONG:
        return f"it has more than {_LONG} lines"
    if zone != "green":
        return f"its file is in the {zone} zone"
    return "it has more than one dependency" if len(method.get("dependencies") or ()) > 1 else ""


def _level(project: str, kind: str, signals: _Signals, heavy: str) -> tuple[str, str]:
    """The level, and the rule that decided it."""
    if project == "library":
        return "unit", "a library is tested at the level unit"
    if signals.pure:
        return "unit", "a pure method is tested at the level unit, with nothing isolated"
    if kind == "controller":
        return "request", "a method of a controller is tested at the level request"
    if kind == "job":
        return "integration", "a method of a job or worker is tested at the level integration"
    if signals.database and heavy:
        return "integration", f"the method uses the database, and {heavy}: integration"
    return "unit", "the method is tested at the level unit"


def _isolation(level: str, signals: _Signals) -> dict[str, str]:
    database = _REAL if level == "request" else _NONE
    if signals.database:
        database = _STUBBED if level == "unit" else _REAL
    return {
        "db": database,
        "queue": _STUBBED if signals.queue else _NONE,
        "external_http": _STUBBED if signals.http else _NONE,
    }


def _confidence(signals: _Signals, zone: str, kind: str) -> tuple[str, list[str]]:
    low, medium = [], []
    if zone == "red":
        low.append("low, the file is in the red zone")
    if kind != "other" and signals.pure:
        low.append(f"low, a {kind} without any signal: file type and signals contradict each other")
    if signals.database and signals.http:
        medium.append("medium, it uses the database and HTTP")
    if zone == "yellow":
        medium.append("medium, the file is in the yellow zone")
    if low:
        return "low", [*low, *medium]
    return ("medium", medium) if medium else ("high", ["high, nothing speaks against it"])


def _answered(config: dict[str, Any], signals: _Signals, level: str, author: str) -> dict[str, Any]:
    by = f" by {author}" if author else ""
    isolation = _isolation(level, signals)
    trace = [line for line in config["decision_trace"] if not line.startswith("isolation: ")]
    trace += [f"answer: {level}, chosen{by}", *(f"isolation: {name} {state}" for name, state in isolation.items())]
    return {"test_level": level, "isolation": isolation, "confidence": "high", "decision_trace": trace}
