"""OpenTelemetry, if it is configured: spans, and the trace context that messages, tasks and commands carry.

Uses only the API, and only if the program has already loaded it (its own code, or `opentelemetry-instrument`) or if
OTEL_PYTHON_TRACER_PROVIDER names a provider. Other OTEL_ variables are not enough: without a provider the API does
nothing, and importing it takes longer than a whole command. A trace context in TRACEPARENT is passed on without the
API.

`moot.wiring` decides whether this module is loaded. Errors in here or in the provider never reach the caller: telemetry
must not make a command fail.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

VARIABLE = "TRACEPARENT"
_PROVIDER = "OTEL_PYTHON_TRACER_PROVIDER"
_LENGTH = 55  # 00-<32 digits>-<16 digits>-<2 digits>
_LONGEST = 256
_DIGITS = frozenset("0123456789abcdef")


def checked(text: str | None) -> str | None:
    """A W3C Trace Context `traceparent`, converted to version 00; None if it is not valid."""
    if text is None or not _LENGTH <= len(text) <= _LONGEST:
        return None
    version, trace, span, flags = text[:2], text[3:35], text[36:52], text[53:55]
    marks = (text[2], text[35], text[52])
    digits = _DIGITS.issuperset(version + trace + span + flags)
    if marks != ("-", "-", "-") or not digits or version == "ff" or not trace.strip("0") or not span.strip("0"):
        return None
    if version == "00":
        return text if len(text) == _LENGTH else None
    if len(text) > _LENGTH and text[_LENGTH] != "-":
        return None
    return f"00-{trace}-{span}-{int(flags, 16) & 1:02x}"  # the fields of a later version that version 00 has


class Span:
    """A span, or a placeholder that does nothing. `trace`: the trace context for child processes; None without one."""

    def __init__(self, trace: str | None, real: Any = None) -> None:
        self.trace = trace
        self._real = real

    def note(self, **facts: Any) -> None:
        """Set attributes, each with the prefix `moot.`. Attributes with the value None are left out."""
        if self._real is not None:
            _safely(self._real.set_attributes, {f"moot.{n}": value for n, value in facts.items() if value is not None})

    def broken(self, why: str) -> None:
        """Mark the span as failed with an internal error."""
        if self._real is not None:
            _safely(self._fail, why)

    def _fail(self, why: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._real.set_status(Status(StatusCode.ERROR, why))

    def environment(self) -> dict[str, str]:
        """The additional environment variables for a child process."""
        return {} if self.trace is None else {VARIABLE: self.trace}


class Tracing:
    """The spans of one process, and the trace context it was started with."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._started_in = checked(env.get(VARIABLE))
        self._api: Any = None
        self._tracer: Any = None
        self.missing: str | None = None  # the configured provider, if it cannot be loaded
        if "opentelemetry" in sys.modules or _PROVIDER in env:
            self.missing = None if _safely(self._load) else env.get(_PROVIDER)

    def _load(self) -> bool:
        from logging import getLogger

        from opentelemetry import trace

        log = getLogger("opentelemetry.util._providers")
        before, log.disabled = log.disabled, True  # it would print a traceback; moot adds a warning instead
        try:
            self._tracer = trace.get_tracer("moot")
        finally:
            log.disabled = before
        self._api = trace
        return True

    def current(self) -> str | None:
        """The trace context of the current span, or the one the process was started with."""
        return self._open() or self._started_in

    def _open(self) -> str | None:
        return None if self._api is None else _safely(lambda: _written(self._api.get_current_span()))

    @contextmanager
    def span(self, name: str, parent: str | None = None, **facts: Any) -> Iterator[Span]:
        """Open a span below `parent`, or below the current span."""
        above = checked(parent)
        real = None if self._tracer is None else _safely(self._begun, name, above)
        if real is None:
            yield Span(above or self.current())
            return
        span = Span(_safely(_written, real) or above or self._started_in, real)
        span.note(**facts)
        scope = _safely(self._entered, real)
        try:
            yield span
        finally:
            if scope is not None:
                _safely(scope.__exit__, None, None, None)
            _safely(real.end)

    def effect(self, kind: str, trace: str | None = None, **facts: Any) -> AbstractContextManager[Span]:
        """A span `moot.effect` for an effect, below the trace context of its request: `with … as span`.

        Add `span.environment()` to the environment of a command. Record the outcome with `span.note(outcome=…)`.
        """
        return self.span("moot.effect", trace, kind=kind, **facts)

    def _begun(self, name: str, above: str | None) -> Any:
        return self._tracer.start_span(name, self._context(above or ("" if self._open() else self._started_in)))

    def _entered(self, real: Any) -> AbstractContextManager[Any]:
        """Make the span the current one until the scope exits. The span does not record exceptions."""
        scope: AbstractContextManager[Any] = self._api.use_span(
            real, end_on_exit=False, record_exception=False, set_status_on_exception=False
        )
        scope.__enter__()
        return scope

    def _context(self, parent: str | None) -> Any:
        if not parent:
            return None
        api = self._api
        flags = api.TraceFlags(int(parent[53:55], 16))
        above = api.SpanContext(int(parent[3:35], 16), int(parent[36:52], 16), is_remote=True, trace_flags=flags)
        return api.set_span_in_context(api.NonRecordingSpan(above))


def _written(span: Any) -> str | None:
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _safely(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call code of the provider. If it fails, return None: there is no span."""
    try:
        return call(*arguments)
    except Exception:
        return None
