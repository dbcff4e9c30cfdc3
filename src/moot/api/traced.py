"""A session whose verbs are spans. Made by `moot.wiring` where there is something to trace, instead of the plain one.

It changes no answer: it only looks at what goes by.
"""

from __future__ import annotations

from moot.api import catalogue
from moot.api.answer import Notice
from moot.api.session import Session
from moot.core.errors import MootError, Unavailable
from moot.engine.tracing import Tracing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from moot.api.answer import Answer
    from moot.engine.loop import Outcome
    from moot.engine.tracing import Span
    from moot.engine.work import Work


class TracedSession(Session):
    """See the module. What it stores carries the trace of the verb that stored it."""

    def trace_with(self, env: Mapping[str, str]) -> None:
        self._tracing = Tracing(env)
        self._outcome: Outcome | None = None
        self.engine.trace = self._tracing.current

    def run(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        catalogue.find(name)  # what is no verb is no span
        self._outcome = None
        with self._tracing.span(f"moot.{name.replace(' ', '.')}") as span:
            try:
                answer = super().run(name, arguments)
            except MootError as error:
                self._note(span, error.code)
                if isinstance(error, Unavailable):
                    span.broken(error.message)
                raise
            except BaseException as error:
                self._note(span, type(error).__name__)
                span.broken(type(error).__name__)
                raise
            self._note(span, "ok")
            return self._warned(answer)

    def _warned(self, answer: Answer) -> Answer:
        """Whoever asked for a provider that is not there is told with the first answer."""
        missing, self._tracing.missing = self._tracing.missing, None
        if missing is None:
            return answer
        said = f"Nothing is traced: the provider {missing!r} (OTEL_PYTHON_TRACER_PROVIDER) cannot be loaded."
        return answer.replace(warnings=(*answer.warnings, Notice("not_traced", said)))

    def commit(self, act: Callable[[Work], None]) -> Outcome:
        self._outcome = super().commit(act)
        return self._outcome

    def join(self, name: str | None, free: Callable[[Work], str], act: Callable[[Work, str], None]) -> Outcome:
        self._outcome = super().join(name, free, act)
        return self._outcome

    def _note(self, span: Span, outcome: str) -> None:
        done = self._outcome
        span.note(
            agent=self.caller.agent,
            incarnation=self.caller.incarnation,
            outcome=outcome,
            position=(done.last or None) if done is not None else None,
            repeated=done.repeated if done is not None else None,
        )
