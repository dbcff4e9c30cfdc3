"""The import budget: what the commands that agents call all day may load.

A command lives for some milliseconds, and each module costs it a part of them. Whoever adds one to this path takes it
off again (an import inside the function that needs it), or lists it here and answers for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from tests.surfaces.command import PATIENCE, Command, new_command
from tests.surfaces.worlds import enliven

if TYPE_CHECKING:
    from collections.abc import Iterable


def words(text: str) -> list[str]:
    return text.split()


# Neither these nor anything below them, whatever else happens to need them.
FORBIDDEN = words("""
    argparse asyncio concurrent ctypes dataclasses datetime email hashlib importlib.metadata importlib.resources inspect
    jsonschema_rs logging msgspec pathlib random rich secrets shutil socket sqlite3 subprocess tempfile threading
    tomllib typing urllib uuid zipfile
""")

# What the commands may import themselves. What these bring along is paid for with them.
OUTSIDE = (
    "__future__ _blake2 _json abc apsw array collections.abc encodings.ascii errno fcntl itertools os pwd stat sys "
    "time weakref contextlib enum functools re"
)

EVERYWHERE = words("""
    moot moot.api moot.api.answer moot.api.catalogue moot.api.call moot.api.protocol moot.api.pool moot.api.verbs
    moot.api.workspace
    moot.core moot.core.claims moot.core.json_codec moot.core.errors moot.core.event moot.core.identity
    moot.core.ids moot.core.kind moot.core.task.leases
    moot.core.lifecycle moot.core.payload moot.core.principal moot.core.record
    moot.core.task moot.core.text moot.core.timestamps
    moot.core.deciders moot.core.deciders.agent
    moot.core.deciders.graph moot.core.deciders.mailbox moot.core.deciders.message moot.core.deciders.task
    moot.core.reactions moot.core.reactions.releases
    moot.engine moot.engine.clock moot.engine.facts moot.place.gitdir moot.engine.engine moot.place
    moot.engine.presence moot.place.settings moot.place.trust moot.engine.unit_of_work
    moot.log moot.place.private_files
    moot.logs moot.logs.sqlite moot.logs.sqlite.bell moot.logs.sqlite.database moot.logs.sqlite.faults
    moot.logs.sqlite.file moot.logs.sqlite.lock moot.logs.sqlite.log
    moot.logs.sqlite.platform_checks moot.logs.sqlite.queries moot.logs.sqlite.transaction
    moot.surfaces moot.surfaces.cli moot.surfaces.cli.main moot.surfaces.cli.parse moot.surfaces.cli.voices
    moot.views moot.views.file moot.views.states moot.views.queries moot.views.store
    moot.wiring
""")
MAIL = [
    "moot.core.addresses",
    "moot.api.verbs.mail",
    "moot.api.message_view",
    "moot.api.verbs.mail.send",
]
INBOX = ["moot.api.message_view", "moot.api.verbs.mail", "moot.api.verbs.mail.inbox"]
WRITING = ["moot.core.integrity", "moot.core.integrity.chain", "moot.views.project"]  # whoever appends, or catches up
KEEPING = [
    "moot.place.private_files",
]

COMMANDS = {
    "no mail": (["inbox"], "Ada", 0, INBOX, ""),
    "mail": (["inbox"], "Bob", 0, [*INBOX, *WRITING, *KEEPING], ""),
    "a note": (["send", "Bob", "hi"], "Ada", 0, [*MAIL, *WRITING, *KEEPING], ""),
    "a request": (
        ["send", "Bob", "hi", "--type", "request", "--within", "1h"],
        "Ada",
        0,
        [*MAIL, *WRITING, *KEEPING],
        "",
    ),
    "a refusal": (
        ["task", "claim", "task-003"],
        "Ada",
        3,
        [
            "moot.api.verbs.tasks",
            "moot.api.verbs.tasks.answers",
            "moot.api.verbs.tasks.claiming",
            "moot.api.verbs.tasks.tasks",
            "moot.core.task.refusals",
        ],
        "",
    ),
    "a refusal with a hint": (["send", "Bbo", "hi"], "Ada", 4, MAIL, "difflib"),
}

# The same with a pack switched on, while its files are as they were: what a pack adds to every call.
# Milliseconds of CPU time that the other way costs in such a call (Python 3.11, median of 41 runs, error about 1):
#
#                                  inbox   inbox, pack   send   send, pack
#     json instead of _json            6             6      7            2
#     hashlib instead of _blake2       0             4      4            5
#     typing, for TYPE_CHECKING        9            10     10            6
#     threading instead of _thread     1             2      2            1
#     weakref instead of _weakref      1             0      1            2    so it is used
#     signal instead of _signal        0             0      0            0    so it is used
#
# `_socket` rings the bell of those who wait; `socket` would cost such a send 3.
PACK = words("""
    moot.api.protocol.form moot.api.protocol moot.api.protocol.clearing moot.api.protocol.loading
    moot.api.protocol.mirrors moot.core.pack_code
    moot.core.deciders.held_entry moot.core.schema.phrases moot.core.schema moot.place.caches
    moot.mirrors moot.mirrors.absorbing moot.mirrors.exchange moot.mirrors.file_reading moot.mirrors.files
    moot.mirrors.folders moot.mirrors.forms moot.mirrors.forms.entries
    moot.api.protocol.held_entries moot.mirrors.lock
    moot.mirrors.rendering moot.mirrors.state_cache moot.core.strict_json moot.mirrors.sync
    moot.mirrors.sync_context moot.packs moot.packs.orchestrator
    moot.api.protocol.content moot.core.deciders.settings moot.core.flat_json moot.place.settings.rules
    moot.mirrors.forms.lines moot.packs.orchestrator.queue_file moot.packs.orchestrator.status_file moot.wiring.packs
""")
PACKED_COMMANDS = {
    "no mail": (["inbox"], [*INBOX, *PACK]),
    "a note": (["send", "Bob", "hi"], [*MAIL, *WRITING, *KEEPING, *PACK, "moot.core.deciders.pack"]),
}

DRIVER = """
import sys
before = set(sys.modules)
from moot.surfaces.cli.main import main
code = main(sys.argv[1:])
loaded = sorted(set(sys.modules) - before)
import json
print(json.dumps([code, loaded]), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = new_command(tmp_path_factory.mktemp("town"))
    enliven(command)
    with Workspace(command.repo, agent="Ada") as ada:
        ada.inbox()  # from here on she has no new mail
    return command


def python(command: Command, agent: str | None, *words: str) -> str:
    """The last line that a Python program says on its error output."""
    env = {**command.environment, **({"MOOT_AGENT": agent} if agent else {})}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=command.repo,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return done.stderr.splitlines()[-1]


def brought_by(command: Command, names: str) -> set[str]:
    """All modules that are there once these were imported."""
    script = f"import sys, {', '.join(names.split())}\nprint(*sys.modules, file=sys.stderr)"
    return set(python(command, None, "-c", script).split())


def within(name: str, roots: Iterable[str]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = new_command(tmp_path_factory.mktemp("packed"))
    with Workspace.init(command.repo, packs=("orchestrator",)) as here:
        for name in ("Ada", "Bob"):
            here.join(name)
    os.utime(command.repo / "moot.toml", (0, 0))  # what was read from a file that just changed is not kept
    for words, _ in PACKED_COMMANDS.values():
        python(command, "Ada", "-c", DRIVER, *words)
    return command


@pytest.mark.parametrize("case", PACKED_COMMANDS)
def test_a_command_with_a_pack_loads_what_is_listed_and_nothing_else(packed: Command, case: str) -> None:
    words, more = PACKED_COMMANDS[case]
    check(packed, words, "Ada", 0, more, "")


@pytest.mark.parametrize("case", COMMANDS)
def test_a_command_loads_what_is_listed_and_nothing_else(town: Command, case: str) -> None:
    check(town, *COMMANDS[case])


def check(command: Command, words: list[str], agent: str, expected: int, more: list[str], outside: str) -> None:
    code, loaded = json.loads(python(command, agent, "-c", DRIVER, *words))
    assert code == expected
    ours = {name for name in loaded if within(name, ["moot"])}
    theirs = set(loaded) - ours
    assert sorted(name for name in theirs if within(name, FORBIDDEN)) == []
    assert sorted(ours - {*EVERYWHERE, *more}) == [], "not listed in this file"
    assert sorted(theirs - brought_by(command, f"{OUTSIDE} {outside}")) == [], "not listed in this file"


def test_what_is_listed_is_needed(town: Command) -> None:
    """A module that no command loads any more is taken off the list."""
    loaded: set[str] = set()
    for words, agent, _, _, _ in COMMANDS.values():
        loaded.update(json.loads(python(town, agent, "-c", DRIVER, *words))[1])
    listed = {*EVERYWHERE, *(name for *_, more, _ in COMMANDS.values() for name in more)}
    assert sorted(listed - loaded) == []


def test_the_command_line_of_a_person_loads_rich_only_for_a_table(town: Command) -> None:
    """Not even at a terminal: an answer without a table is written as it is."""
    for words, drawn in ((["send", "Bob", "hi"], False), (["agents"], True)):
        script = f"sys.stdout.isatty = lambda: True\n{DRIVER}"
        _, loaded = json.loads(python(town, "Ada", "-c", f"import sys\n{script}", *words))
        assert ("rich" in loaded) is drawn


def test_the_list_of_the_forbidden_holds_what_the_linter_forbids(town: Command) -> None:
    """pyproject.toml keeps them out of the top of our modules; this file keeps them out of the whole way."""
    import tomllib
    from pathlib import Path

    settings = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8"))
    banned = set(settings["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-module-level-imports"])
    assert banned - {"re", "difflib"} <= set(FORBIDDEN)
