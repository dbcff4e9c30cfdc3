"""Verbs as spans. Loaded only if tracing is enabled. It does not change answers."""

from __future__ import annotations

from moot.api import catalogue
from moot.api.answer import Notice
from moot.core.errors import MootError, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.engine.tracing import Span, Tracing


def run_in_span(call: Call, tracing: Tracing, name: str, arguments: Mapping[str, Any]) -> Answer:
    """Run a verb inside a span. Its events carry the trace context."""
    catalogue.find(name, call.packs)  # an unknown verb has no span
    with tracing.span(f"moot.{name.replace(' ', '.')}") as span:
        try:
            answer = call.carry_out(name, arguments)
        except MootError as error:
            _note(span, call, error.code)
            if isinstance(error, Unavailable):
                span.broken(error.message)
            raise
        except BaseException as error:
            _note(span, call, type(error).__name__)
            span.broken(type(error).__name__)
            raise
        _note(span, call, "ok")
        return _warned(tracing, answer)


def _warned(tracing: Tracing, answer: Answer) -> Answer:
    """If the configured provider cannot be loaded, the first answer warns about it."""
    missing, tracing.missing = tracing.missing, None
    if missing is None:
        return answer
    said = f"Nothing is traced: the provider {missing!r} (OTEL_PYTHON_TRACER_PROVIDER) cannot be loaded."
    return answer.replace(warnings=(*answer.warnings, Notice("not_traced", said)))


def _note(span: Span, call: Call, outcome: str) -> None:
    done = call.outcome
    span.note(
        agent=call.caller.agent,
        incarnation=call.caller.incarnation,
        outcome=outcome,
        position=(done.last or None) if done is not None else None,
        repeated=done.repeated if done is not None else None,
    )
