"""specflow migrations: the numbers that were assigned, and the tables."""

from __future__ import annotations

import os

from moot.api.answer import Answer, Table
from moot.api.catalogue import Verb
from moot.core.record import Record
from moot.packs.specflow import migrations as tables
from moot.packs.specflow.team import PACK
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call


class AssignedMigration(Record):
    number: str
    issue: int
    file: str
    exists: bool
    tables: tuple[str, ...]


class KnownTable(Record):
    """A table: the migration that creates it, or the open issue that will."""

    name: str
    migration: str = ""
    issue: int | None = None


class Migrations(Record):
    """`next`: the number that the next request gets."""

    next: int
    assigned: tuple[AssignedMigration, ...]
    tables: tuple[KnownTable, ...]


def migrations(call: Call) -> Answer:
    store, root = call.engine.read(), call.place.root
    folder = next(pack for pack in call.packs.packs if pack.name == PACK).values["migrations"]
    files = tables.scan(root, folder)
    series, _ = states.state(store, "series", tables.SERIES)
    known = tables.known_tables(lambda name: states.task(store, name)[0], series, files)
    assigned = tuple(
        AssignedMigration(
            one.data["text"],
            one.data["issue"],
            one.data["file"],
            os.path.isfile(os.path.join(root, one.data["file"])),
            tuple(one.data["tables"]),
        )
        for one in series.given.values()
    )
    found = [KnownTable(name, file.number) for name, file in known.existing.items()]
    found += [KnownTable(name, issue=one.data["issue"]) for one in known.pending for name in one.data["creates"]]
    after = max([series.last, *(int(file.number) for file in files)]) + 1
    rows = tuple(
        (one.number, f"#{one.issue}", one.file, "written" if one.exists else "not written yet") for one in assigned
    )
    lines = [f"The next number is {after}."]
    lines += [f"{number} {issue} {file}: {there}" for number, issue, file, there in rows]
    lines += [
        f"{one.name}: {f'migration {one.migration}' if one.migration else f'pending, #{one.issue}'}" for one in found
    ]
    table = Table(("number", "issue", "file", "state"), rows, title="Migrations") if rows else None
    return Answer(result=Migrations(after, assigned, tuple(found)), say=tuple(lines), table=table)


MIGRATIONS = Verb(
    "specflow migrations",
    "Show the next migration number, the assigned ones, and the tables.",
    migrations,
    kind="look",
    examples=("moot specflow migrations",),
    writes=False,
)
