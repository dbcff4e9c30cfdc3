"""Settings for the whole suite. Fixtures are in the conftest.py of the folder that needs them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from moot.core.identity import AGENTS_SHELLS
from tests import sealing
from tests.kit.ledger import keep
from tests.specs import ledger

# The same code gives the same result in each run; `make soak` tries more examples, and different ones each time. There
# are no deadlines: how fast a loaded machine is proves nothing.
settings.register_profile(
    "steady", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "soak", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    """Run the tests as a person, even if an agent started them.

    The processes that they start inherit this. A test about another caller sets that caller itself.
    """
    for name in [*os.environ]:
        if name in AGENTS_SHELLS or name.startswith("MOOT_"):
            del os.environ[name]
    os.environ["MOOT_PERSON"] = "1"
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="moot-tests-")  # not the user's own
    sealing.seal()
    keep(config, ledger.read)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--log", choices=("memory", "sqlite"), default="memory", help="where tests marked in_memory keep their log"
    )


@pytest.fixture(autouse=True)
def _log_in_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep the log in memory for tests of rules and verbs, which are not about files."""
    wanted = request.node.get_closest_marker("in_memory") and not request.node.get_closest_marker("on_disk")
    if not wanted or request.config.getoption("--log") != "memory":
        yield
        return
    from moot.testing.memory_log import in_memory

    with in_memory():
        yield


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)


def kills_things(nodeid: str) -> bool:
    """Whether a test is in tests/faults/ or in a file with `faults` in its name."""
    return "faults" in nodeid.split("::", 1)[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the fault tests first, because they take longest."""
    items.sort(key=lambda item: not kills_things(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`make test` runs files in parallel, but all fault tests on one worker.

    They start and kill dozens of processes. In parallel they would only compete for the CPU.
    (Not `xdist_group`: pytest 9.2 and pytest-xdist 3.8 together ignore it silently.)
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "faults" if kills_things(nodeid) else nodeid.split("::", 1)[0]

    return ByFile(config, log)
