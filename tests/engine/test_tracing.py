"""Trace ids by the grammar of W3C Trace Context, and spans where nobody has set anything up."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.engine.tracing import Tracing, checked

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
hexadecimal = "0123456789abcdef"


def digits(length: int) -> st.SearchStrategy[str]:
    return st.text(hexadecimal, min_size=length, max_size=length)


@given(digits(32).filter(lambda t: t.strip("0")), digits(16).filter(lambda t: t.strip("0")), digits(2))
def test_what_the_grammar_allows_is_carried_as_it_is(trace: str, span: str, flags: str) -> None:
    assert checked(f"00-{trace}-{span}-{flags}") == f"00-{trace}-{span}-{flags}"


@given(st.text(max_size=300) | st.text("0123456789abcdef-", min_size=50, max_size=60))
def test_no_text_is_too_strange(text: str) -> None:
    found = checked(text)
    assert found is None or (found.startswith("00-") and len(found) == 55)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        TRACE.upper(),
        TRACE[:-1],
        f"{TRACE}-",
        f"{TRACE}-more",
        f" {TRACE}",
        f"{TRACE}\n",
        "ff" + TRACE[2:],
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        TRACE.replace("-", "_"),
        "0g" + TRACE[2:],
        "cc" + TRACE[2:] + "more",
        "cc" + TRACE[2:] + "-" + "x" * 400,
    ],
)
def test_anything_else_is_no_trace(text: str | None) -> None:
    assert checked(text) is None


def test_of_a_later_version_the_known_part_is_carried() -> None:
    assert checked(f"cc{TRACE[2:]}-what-the-future-brings") == TRACE
    assert checked(f"01{TRACE[2:-2]}ff") == f"{TRACE[:-2]}01"


def test_without_a_provider_a_trace_is_given_on_and_nothing_else_happens() -> None:
    tracing = Tracing({"TRACEPARENT": TRACE})
    with tracing.span("moot.send", agent="Yeats") as span:
        span.note(outcome="ok")
        span.broken("it was not")
        assert span.trace == tracing.current() == TRACE
        assert span.environment() == {"TRACEPARENT": TRACE}
    other = TRACE.replace("4bf9", "aaaa")
    with tracing.effect("command", other) as span:
        assert span.environment() == {"TRACEPARENT": other}
    with Tracing({"TRACEPARENT": "nonsense"}).effect("command", "nonsense") as span:
        assert span.environment() == {}


BROKEN = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from moot.engine.tracing import Tracing

class Broken(SpanProcessor):
    def on_start(self, span, parent_context=None):
        if "start" in sys.argv:
            raise RuntimeError("at the start")
    def on_end(self, span):
        raise RuntimeError("at the end")

provider = TracerProvider()
provider.add_span_processor(Broken())
trace.set_tracer_provider(provider)
with Tracing({}).span("moot.send") as span:
    span.note(outcome=object(), agent="Yeats")
    print("done")
"""


@pytest.mark.parametrize("when", ["start", "end"])
def test_a_provider_that_fails_stops_nothing(when: str) -> None:
    done = subprocess.run([sys.executable, "-c", BROKEN, when], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "done\n"


UNTOLD = """
import sys
from opentelemetry import trace
from moot.engine.tracing import Tracing

class Span(trace.NonRecordingSpan):
    def get_span_context(self):
        raise RuntimeError("nobody knows")

class Tracer(trace.NoOpTracer):
    def start_span(self, *arguments, **options):
        return Span(trace.INVALID_SPAN_CONTEXT)

class Provider(trace.NoOpTracerProvider):
    def get_tracer(self, *arguments, **options):
        return Tracer()

trace.set_tracer_provider(Provider())
if "scope" in sys.argv:
    trace.use_span = trace.SpanContext = None
tracing = Tracing({"TRACEPARENT": sys.argv[1]})
with trace.use_span(Span(trace.INVALID_SPAN_CONTEXT)) if trace.use_span else trace.NoOpTracer().start_span("above"):
    print(tracing.current() == sys.argv[1])
    with tracing.span("moot.send") as span:
        span.broken("it was not")
        print(span.trace == sys.argv[1])
"""


@pytest.mark.parametrize("what", ["context", "scope"])
def test_a_provider_whose_spans_fail_stops_nothing(what: str) -> None:
    words = [sys.executable, "-c", UNTOLD, TRACE, what]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\nTrue\n"
