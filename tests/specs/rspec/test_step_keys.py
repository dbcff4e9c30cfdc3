"""Each input of the stages is changed alone: exactly the stages that depend on it run again, and no other."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.packs.rspec.agents import (
    ANALYZER,
    ARCHITECT,
    DISCOVERY,
    FACTORY,
    IMPLEMENTER,
    ISOLATION,
    REVIEWER,
)
from moot.packs.rspec.cover_report import CoverReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.specs.rspec.shop import Shop

SOURCE, SPEC, FACTORIES = "app/models/book.rb", "spec/models/book_spec.rb", "spec/factories/books.rb"
DOCUMENT = "tmp/rspec_metadata/app_models_book.yml"
NONE: list[str] = []


def ran(shop: Shop) -> list[str]:
    """The stages that the last run did not reuse."""
    with Workspace(str(shop.root)) as workspace:
        tree: Any = workspace.run_status()
    return [one.stage for wave in tree.waves for target in wave for one in target.stages if one.state != "reused"]


def allow(shop: Shop) -> None:
    with Workspace(str(shop.root)) as workspace:
        workspace.allow(all=True, yes=True)


def swap(path: str, old: str, new: str) -> Callable[[Shop], None]:
    def change(shop: Shop) -> None:
        assert old in shop.file(path), (old, shop.file(path))
        shop.write(path, shop.file(path).replace(old, new, 1))
        if path == "moot.toml":
            allow(shop)

    return change


def append(path: str, text: str) -> Callable[[Shop], None]:
    return lambda shop: shop.write(path, (shop.file(path) if (shop.root / path).exists() else "") + text)


def settings(text: str) -> Callable[[Shop], None]:
    def change(shop: Shop) -> None:
        append("moot.toml", f"{text}\n")(shop)
        allow(shop)

    return change


def touch(shop: Shop) -> None:
    now = (shop.root / SOURCE).stat()
    os.utime(shop.root / SOURCE, ns=(now.st_atime_ns, now.st_mtime_ns + 5_000_000_000))


def nothing(_shop: Shop) -> None:
    pass


def move_base(shop: Shop) -> None:
    """The base is another commit with the same files; nothing is checked out."""
    for branch in ("main", "feature"):
        made = subprocess.run(
            ["git", "commit-tree", f"{branch}^{{tree}}", "-p", "main", "-m", "again"],
            cwd=shop.root,
            check=True,
            capture_output=True,
            text=True,
        )
        shop.git("update-ref", f"refs/heads/{branch}", made.stdout.strip())


def agent(stage: str, word: str) -> Callable[[Shop], None]:
    """The same agent, called with one more word."""

    def change(shop: Shop) -> None:
        lines = shop.file("moot.toml").splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith(f"{stage} = "))
        lines[at] = lines[at].replace("'honest'", f"'honest', {word!r}", 1)
        shop.write("moot.toml", "\n".join(lines) + "\n")
        allow(shop)

    return change


ALL = [DISCOVERY, ANALYZER, ISOLATION, ARCHITECT, FACTORY, IMPLEMENTER, REVIEWER]
# What is changed, how, and the stages that run again. Each line begins where the one above has ended.
CHANGES: list[tuple[str, Callable[[Shop], None], list[str]]] = [
    ("nothing", nothing, NONE),
    ("the time of the source", touch, [ANALYZER, ISOLATION]),
    ("a comment in the source", append(SOURCE, "# sold here\n"), [ANALYZER, ISOLATION, IMPLEMENTER, REVIEWER]),
    ("the type of the project", settings('[pack.rspec]\nproject_type = "library"'), ALL[2:]),
    ("the command of factory-agent", agent("factory-agent", "a"), [FACTORY]),
    ("the command of test-implementer", agent("test-implementer", "b"), [IMPLEMENTER]),
    ("the command that runs RSpec", settings('rspec = ["rspec", "--order", "defined"]'), [REVIEWER]),
    ("the time limit of RSpec", settings("rspec_timeout = 299"), NONE),
    ("a spec of another class", append("spec/models/other_spec.rb", "# other\n"), NONE),
    ("the commit that changes are compared with", move_base, [DISCOVERY, ANALYZER]),
    ("the kind of a class that it names", append("app/models/copies.rb", "class Copies\nend\n"), [ISOLATION]),
    ("a comment in the spec", append(SPEC, "# mine\n"), ALL[6:]),
    ("a behaviour in the document", swap(DOCUMENT, "raises ArgumentError", "raises an error"), ALL[3:]),
    ("a key of the document that nobody knows", append(DOCUMENT, "note: mine\n"), NONE),
    ("nothing after all of that", nothing, NONE),
]


@pytest.mark.proves("S2-HARD-04", "S2-MECH-04", "S2-CACHE-01")
def test_a_stage_runs_again_exactly_if_something_changed_that_it_depends_on(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    assert isinstance(shop.cover(), CoverReport)
    assert ran(shop) == ALL
    found = {}
    for name, change, _ in CHANGES:
        change(shop)
        assert isinstance(shop.cover(), CoverReport), name
        found[name] = ran(shop)
    assert found == {name: [*(one for one in stages if one != REVIEWER), REVIEWER] for name, _, stages in CHANGES}
