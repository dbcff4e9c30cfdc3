"""OpenTelemetry as its user has it: the real SDK around the real verbs, and the trace that goes on with them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.command import PATIENCE

if TYPE_CHECKING:
    from tests.surfaces.command import Command

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ID = TRACE[3:35]

# What an embedding program does; its spans come out as JSON lines, oldest first.
PROGRAM = """
import json, os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from moot import MootError, Workspace
memory = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(memory))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("a program")
STORY
spans = [json.loads(span.to_json()) for span in memory.get_finished_spans()]
print(json.dumps({"spans": spans, "said": said}))
"""

# What `opentelemetry-instrument` does to a command.
CUSTOMIZE = """
import os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
out = open(os.environ["SPANS"], "a")
provider = TracerProvider()
line = lambda span: span.to_json(indent=None) + chr(10)
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out, formatter=line)))
trace.set_tracer_provider(provider)
"""


def program(run: Command, story: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("STORY", story)],
        cwd=run.repo,
        env={**run.environment, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def instrumented(run: Command, tmp_path: Path) -> dict[str, str]:
    """The environment of commands that the SDK watches."""
    folder = tmp_path / "instrumentation"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CUSTOMIZE)
    return {"PYTHONPATH": f"{folder}:{run.environment['PYTHONPATH']}", "SPANS": str(tmp_path / "spans")}


def spans_of(environment: dict[str, str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(environment["SPANS"]).read_text().splitlines()]


def test_a_verb_is_a_span_below_that_of_the_program(run: Command) -> None:
    story = """
with Workspace(agent="Ada") as ws, tracer.start_as_current_span("work") as work:
    first = ws.send("Bob", "hello", key="k")
    ws.send("Bob", "hello", key="k")
    ws.task_add("One")
    for wrong in (lambda: ws.send("Bbo", "hello"), lambda: ws.task_claim("task-009")):
        try:
            wrong()
        except MootError:
            pass
    sent = ws.log(type="message:sent", limit=1)[0]
    said = [first.position, sent.data["trace"], ws.task_show("task-001").task.trace]
"""
    found = program(run, story)
    spans = {span["name"]: span for span in reversed(found["spans"])}
    position, sent, added = found["said"]
    assert {"work", "moot.send", "moot.task.add", "moot.task.claim", "moot.log", "moot.task.show"} == spans.keys()
    work = spans["work"]["context"]
    assert all(span["parent_id"] == work["span_id"] for name, span in spans.items() if name != "work")
    sends = [span["attributes"] for span in found["spans"] if span["name"] == "moot.send"]
    ours = {"moot.agent": "Ada", "moot.position": position}
    assert sends[0] == {**ours, "moot.outcome": "ok", "moot.repeated": False}
    assert sends[1] == {**ours, "moot.outcome": "ok", "moot.repeated": True}
    assert sends[2] == {"moot.agent": "Ada", "moot.outcome": "unknown_agent"}
    assert spans["moot.task.claim"]["status"]["status_code"] == "UNSET", "a refusal is an answer"
    trace = work["trace_id"].removeprefix("0x")
    for carried, name in ((sent, "moot.send"), (added, "moot.task.add")):
        assert carried[:52] == f"00-{trace}-{spans[name]['context']['span_id'].removeprefix('0x')}"


def test_a_workspace_that_cannot_be_used_is_an_error_of_its_span(run: Command) -> None:
    story = """
from moot.core.errors import Unavailable
from moot.engine.engine import Engine
def commit(*args, **options):
    raise Unavailable("locked", "Another process has kept the log locked.", "Do it again.")
with Workspace(agent="Ada") as ws:
    Engine.commit, real = commit, Engine.commit
    try:
        ws.send("Bob", "hello")
    except Unavailable as error:
        said = error.code
"""
    (span,) = program(run, story)["spans"]
    assert span["attributes"]["moot.outcome"] == "locked"
    assert span["status"]["status_code"] == "ERROR"


def test_without_a_span_around_it_a_verb_belongs_to_the_trace_of_its_process(run: Command) -> None:
    story = "with Workspace(agent='Ada') as ws:\n    said = ws.send('Bob', 'hello').id"
    (span,) = program(run, story, TRACEPARENT=TRACE)["spans"]
    assert span["context"]["trace_id"] == f"0x{ID}"
    assert span["parent_id"] == f"0x{TRACE[36:52]}"


def test_an_effect_is_a_span_below_what_requested_it(run: Command) -> None:
    story = f"""
from moot.engine.tracing import Tracing
with tracer.start_as_current_span("the runner"), Tracing(os.environ).effect("command", {TRACE!r}, attempt=2) as span:
    span.note(outcome="done")
    said = span.environment()
"""
    found = program(run, story)
    effect = found["spans"][0]
    assert effect["name"] == "moot.effect"
    assert effect["parent_id"] == f"0x{TRACE[36:52]}"
    assert effect["attributes"] == {"moot.kind": "command", "moot.attempt": 2, "moot.outcome": "done"}
    assert found["said"]["TRACEPARENT"][:52] == f"00-{ID}-{effect['context']['span_id'].removeprefix('0x')}"


def test_a_trace_goes_with_a_message_and_a_task_and_is_shown(run: Command) -> None:
    run("send", "Bob", "hello", agent="Ada", TRACEPARENT=TRACE)
    run("task", "add", "One", agent="Ada", TRACEPARENT=TRACE)
    assert run("inbox", "--json", agent="Bob").result["new"][0]["trace"] == TRACE
    assert run("task", "show", "task-001", "--json").result["task"]["trace"] == TRACE
    sent, added = run("log", "--type", "message:sent", "--type", "task:added", "--json").result
    assert sent["data"]["trace"] == added["data"]["trace"] == TRACE
    assert run("verify").code == 0


@pytest.mark.parametrize("trace", [None, "", "nonsense", TRACE.upper(), "00-" + "0" * 32 + TRACE[35:], "\x1b[31m" * 20])
def test_without_a_trace_nothing_is_carried(run: Command, trace: str | None) -> None:
    environment = {} if trace is None else {"TRACEPARENT": trace}
    sent = run("send", "Bob", "hello", "--json", agent="Ada", **environment)
    assert sent.code == 0
    (event,) = run("log", "--type", "message:sent", "--json").result
    assert "trace" not in event["data"]


@pytest.mark.promise(6)
def test_a_repeat_in_another_trace_is_the_same_request(run: Command) -> None:
    first = run("send", "Bob", "hello", "--key", "k", "--json", agent="Ada", TRACEPARENT=TRACE).result
    again = run("send", "Bob", "hello", "--key", "k", "--json", agent="Ada").result
    assert again == {**first, "repeated": True}


def test_commands_of_an_agent_are_spans_below_the_one_that_started_it(
    run: Command, instrumented: dict[str, str]
) -> None:
    words = [sys.executable, "-m", "moot", "send", "Bob", "hello"]
    assert run("as", "Carl", "--", *words, TRACEPARENT=TRACE, **instrumented).code == 0
    spans = {span["name"]: span for span in spans_of(instrumented)}
    assert spans.keys() == {"moot.join", "moot.as", "moot.send", "moot.leave"}
    assert {span["context"]["trace_id"] for span in spans.values()} == {f"0x{ID}"}
    assert spans["moot.as"]["parent_id"] == f"0x{TRACE[36:52]}"
    assert spans["moot.as"]["attributes"] == {"moot.agent": "Carl", "moot.incarnation": 1, "moot.exit_code": 0}
    assert spans["moot.send"]["parent_id"] == spans["moot.as"]["context"]["span_id"]
    assert spans["moot.send"]["attributes"]["moot.agent"] == "Carl"


def test_a_command_gets_the_trace_also_where_nobody_makes_spans(run: Command) -> None:
    script = "import os; print(os.environ.get('TRACEPARENT'))"
    assert run("as", "Carl", "--", sys.executable, "-c", script, TRACEPARENT=TRACE).out == f"{TRACE}\n"


HANDLERS = """
[[handlers]]
name = "tell"
on = ["task:added"]
message = { to = "Bob", text = "new" }

[[handlers]]
name = "print"
on = ["task:added"]
run = ["sh", "-c", "echo $TRACEPARENT > got"]
"""


@pytest.fixture
def handling(run: Command) -> Command:
    (run.repo / "moot.toml").write_text(HANDLERS)
    assert run("allow", "--all", "--yes", MOOT_PERSON="1").code == 0
    return run


def test_effects_carry_on_the_trace_that_caused_them(handling: Command) -> None:
    handling("task", "add", "One", agent="Ada", TRACEPARENT=TRACE)
    assert handling("handle", "--drain").out == "2 done.\n"
    assert (handling.repo / "got").read_text() == f"{TRACE}\n"
    assert handling("inbox", "--json", agent="Bob").result["new"][0]["trace"] == TRACE
    requests = handling("log", "--type", "effect:requested", "--json").result
    assert [event["data"]["trace"] for event in requests] == [TRACE, TRACE]
    assert handling("verify").code == 0


def test_effects_without_a_trace_carry_none(handling: Command) -> None:
    handling("task", "add", "One", agent="Ada")
    assert handling("handle", "--drain").out == "2 done.\n"
    assert (handling.repo / "got").read_text() == "\n"
    assert all("trace" not in event["data"] for event in handling("log", "--json").result)


def test_each_effect_that_is_performed_is_a_span_below_its_cause(
    handling: Command, instrumented: dict[str, str]
) -> None:
    handling("task", "add", "One", agent="Ada", TRACEPARENT=TRACE)
    assert handling("handle", "--drain", **instrumented).out == "2 done.\n"
    effects = [span for span in spans_of(instrumented) if span["name"] == "moot.effect"]
    assert {span["parent_id"] for span in effects} == {f"0x{TRACE[36:52]}"}
    by_kind = {span["attributes"]["moot.kind"]: span for span in effects}
    assert by_kind.keys() == {"message", "run"}
    for span in effects:
        facts = span["attributes"]
        assert (facts["moot.outcome"], facts["moot.attempt"], facts["moot.on"]) == ("done", 1, "task:added")
    ids = {kind: span["context"]["span_id"].removeprefix("0x") for kind, span in by_kind.items()}
    assert (handling.repo / "got").read_text()[:52] == f"00-{ID}-{ids['run']}"
    assert handling("inbox", "--json", agent="Bob").result["new"][0]["trace"][:52] == f"00-{ID}-{ids['message']}"


@pytest.mark.parametrize(
    "environment",
    [
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317"},
        {"TRACEPARENT": TRACE},
        {},
    ],
    ids=["exporter", "trace", "nothing"],
)
def test_a_command_loads_the_api_only_where_it_can_do_something(run: Command, environment: dict[str, str]) -> None:
    script = (
        "import sys\nfrom moot.surfaces.cli.main import main\nmain(['send', 'Bob', 'hi'])\n"
        "print([n for n in sys.modules if n.startswith('opentelemetry') or n.endswith('tracing')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=run.repo,
        env={**run.environment, **environment, "MOOT_AGENT": "Ada"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    loaded = ["moot.engine.tracing", "moot.api.tracing"] if "TRACEPARENT" in environment else []
    assert done.stdout.splitlines()[-1] == str(loaded)


def test_the_provider_that_the_environment_names_is_used(run: Command) -> None:
    run("send", "Bob", "hello", agent="Ada", OTEL_PYTHON_TRACER_PROVIDER="sdk_tracer_provider")
    (event,) = run("log", "--type", "message:sent", "--json").result
    assert event["data"]["trace"].startswith("00-")


def test_a_provider_that_is_not_there_stops_nothing_and_is_said(run: Command) -> None:
    done = run("send", "Bob", "hello", agent="Ada", OTEL_PYTHON_TRACER_PROVIDER="nobody")
    assert done.code == 0
    assert "stored for Bob" in done.out
    assert "not_traced" in done.err
    assert "Traceback" not in done.err
