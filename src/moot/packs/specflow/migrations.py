"""The db-coordinator: hands out migration numbers, and knows which tables exist, are pending, or are in conflict.

A request and its answer are in one commit. What the directory of migrations contains is looked up before it (`scan`).
`moot specflow migrations` shows all that it knows.
"""

from __future__ import annotations

import os
import re  # noqa: TID253 (loaded only for requests about tables)
import time

from moot.api.answer import Answer, Table
from moot.api.catalogue import Verb
from moot.core.deciders.series import AssignNumber
from moot.core.record import Record
from moot.packs.specflow.team import LEAD, PACK, Issue, needed
from moot.place import caches
from moot.place.gitdir import read
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.series import Assignment, Series
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.team import Wave

    Reply = tuple[str, dict[str, Any], str]  # kind, data, and the agent that gets it; empty: the agent that asked

SERIES = f"{PACK}.migrations"
_LARGEST = 4 << 20  # bytes of a migration that are read
_LONGEST = 60  # characters of the tables in a file name
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?", re.ASCII)
_PREFIX = re.compile(r"([0-9]+)_[^/]*\.sql", re.ASCII)
_QUIET = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
_WORD = r'((?:"?[A-Za-z_][\w$]*"?\.)?"?[A-Za-z_][\w$]*"?)'
_CREATE = re.compile(rf"\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?{_WORD}", re.IGNORECASE)
_DROP = re.compile(rf"\bdrop\s+table\s+(?:if\s+exists\s+)?{_WORD}((?:\s*,\s*{_WORD})*)", re.IGNORECASE)
_RENAME = re.compile(
    rf"\balter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?{_WORD}\s+rename\s+to\s+{_WORD}", re.IGNORECASE
)
_STATEMENT = re.compile("|".join(f"(?:{one.pattern})" for one in (_CREATE, _DROP, _RENAME)), re.IGNORECASE)
_seen: dict[str, tuple[list[Any], MigrationFile]] = {}  # by path, with the signature of the file


class MigrationFile(Record):
    """`number` as it stands in the name. `effects`: tables that it creates (True) and drops (False), in order."""

    file: str
    number: str
    effects: tuple[tuple[str, bool], ...] = ()


def table_name(text: str) -> str | None:
    """A table as names compare: an unquoted SQL identifier, without the schema `public`. None: it is none."""
    return text.lower().removeprefix("public.") if _NAME.fullmatch(text) else None


def scan(root: str, folder: str) -> tuple[MigrationFile, ...]:
    """The migrations in a directory, by number. A directory that does not exist has none."""
    try:
        names = sorted(os.listdir(os.path.join(root, folder)))
    except OSError:
        return ()
    found = [(int(match[1]), match[1], name) for name in names if (match := _PREFIX.fullmatch(name))]
    return tuple(_scanned(os.path.join(root, folder, name), folder, text) for _, text, name in sorted(found))


def _scanned(path: str, folder: str, number: str) -> MigrationFile:
    """What is in a file. It is read again only if it has changed."""
    try:
        now = caches.signature(path)
    except OSError:
        now = []
    known = _seen.get(path)
    if known is not None and known[0] == now:
        return known[1]
    file = MigrationFile(f"{folder.rstrip('/')}/{os.path.basename(path)}", number, _effects(path))
    if now and time.time() - now[-1] / 1e9 > caches.YOUNG:  # else it could change and keep its signature
        _seen[path] = now, file
    return file


def _effects(path: str) -> tuple[tuple[str, bool], ...]:
    found: list[tuple[str, bool]] = []
    try:
        sql = _QUIET.sub(" ", read(path, _LARGEST).decode("utf-8", "replace"))
    except OSError:
        return ()
    for statement in _STATEMENT.finditer(sql):
        words = [one.replace('"', "") for one in statement.groups() if one and not one.lstrip().startswith(",")]
        text = statement[0].lower()
        if text.startswith("create"):
            found.append((words[0], True))
        elif text.startswith("drop"):
            gone = re.findall(_WORD, re.sub(r"(?i)^drop\s+table\s+(if\s+exists\s+)?", "", statement[0]))
            found += [(one.replace('"', ""), False) for one in gone]
        else:
            found += [(words[0], False), (words[1], True)]
    return tuple((name, made) for text, made in found if (name := table_name(text)))


class KnownTables(Record):
    """`existing`: the migration of each table. `pending`: the open assignments of other issues, oldest first."""

    existing: Mapping[str, MigrationFile]
    pending: Sequence[Assignment]

    def creator(self, table: str) -> Assignment | None:
        return next((one for one in self.pending if table in one.data["creates"]), None)


def known_tables(
    task: Callable[[str], Task], series: Series, files: Sequence[MigrationFile], besides: int = 0
) -> KnownTables:
    """What exists and what is pending. A file that was assigned to an open issue makes nothing exist yet."""
    numbers = {one.data["issue"] for one in series.given.values()}
    still_open = {number for number in numbers if Issue.of_task(task(f"issue-{number}")).is_open}
    pending = [one for one in series.given.values() if one.data["issue"] in still_open]
    unfinished = {one.data["file"] for one in pending}
    existing: dict[str, MigrationFile] = {}
    for file in files:
        for table, made in file.effects if file.file not in unfinished else ():
            existing.pop(table, None)
            existing |= {table: file} if made else {}
    return KnownTables(existing, [one for one in pending if one.data["issue"] != besides])


# --- answers ---------------------------------------------------------------------------------------------------------


def query(work: Work, files: Sequence[MigrationFile], asked: str) -> Reply:
    """Whether a table exists."""
    known, table = known_tables(work.task, work.state("series", SERIES), files), str(table_name(asked))
    if (found := known.existing.get(table)) is not None:
        return "TABLE_EXISTS", {"migration": found.number, "table": table, "file": found.file}, ""
    if (pending := known.creator(table)) is not None:
        return "TABLE_PENDING", {"issue": pending.data["issue"], "table": table}, ""
    return "TABLE_NOT_FOUND", {"table": table}, ""


def request(
    work: Work, wave: Wave, files: Sequence[MigrationFile], folder: str, asked: Mapping[str, Any]
) -> Iterator[Reply]:
    """Assign a number, or refuse the request because of a conflict. The same request has the same number again."""
    number, tables = asked["issue"], list(dict.fromkeys(str(table_name(one)) for one in asked["tables"]))
    key, series = f"{number}:{','.join(sorted(tables))}", work.state("series", SERIES)
    if key not in series.given:
        known, before = known_tables(work.task, series, files, number), needed(work, f"issue-{number}")
        missing = [table for table in tables if table not in known.existing]
        refused: dict[int, list[str]] = {}
        for table in missing:
            rival = known.creator(table)
            if rival is not None and f"issue-{rival.data['issue']}" not in before:
                refused.setdefault(rival.data["issue"], []).append(table)
        for other, shared in refused.items():
            why = (
                f"created by #{other}, and #{number} asked to create the same: the request of #{number} was refused. "
                f"Depend on #{other}, or use another name."
            )
            yield from _conflict(wave, shared, why, (number, other), refused=True)
        if refused:
            return
        creates = [table for table in missing if known.creator(table) is None]
        _assign(work, key, {"issue": number, "tables": tables, "creates": creates}, files, folder)
        given = work.state("series", SERIES).given[key].data
        for rival in known.pending:
            if shared := [table for table in tables if table in rival.data["tables"]]:
                why = (
                    f"changed by #{rival.data['issue']} ({rival.data['text']}) and #{number} ({given['text']}): apply "
                    "the two in number order, nothing was refused."
                )
                yield from _conflict(wave, shared, why, (number, rival.data["issue"]), refused=False)
    given = work.state("series", SERIES).given[key].data
    yield "MIGRATION_ASSIGNED", {"number": given["text"], "file": given["file"], "issue": number, "tables": tables}, ""


def _assign(work: Work, key: str, data: Mapping[str, Any], files: Sequence[MigrationFile], folder: str) -> None:
    """Give the next number. It has as many digits as the one before."""
    series: Series = work.state("series", SERIES)
    numbers = [file.number for file in files] or [one.data["text"] for one in series.given.values()] or [""]
    name = "_".join(one.replace(".", "_") for one in data["tables"])[:_LONGEST].rstrip("_")
    more = {"text": "{number}", "file": f"{folder.rstrip('/')}/{{number}}_{name}.sql"}
    above = int(files[-1].number) if files else 0
    work.do("series", SERIES, AssignNumber(key, above, len(numbers[-1]), {**data, **more}), pack=PACK)


def _conflict(
    wave: Wave, tables: Sequence[str], why: str, issues: tuple[int, int], *, refused: bool
) -> Iterator[Reply]:
    """A message to the agent of each issue, and to the lead if the request of the first one was refused."""
    details = f"{', '.join(tables)} are {why}" if len(tables) > 1 else why
    data = {"table": tables[0], "details": details, "issues": list(issues), "refused": refused}
    if refused:
        yield "CONFLICT", data, ""
        yield "CONFLICT", data, wave.agent_in(LEAD)
    for issue in issues[1:] if refused else issues:
        if (member := wave.of_issue(issue)) is not None:
            yield "CONFLICT", data, member.agent


# --- the verb --------------------------------------------------------------------------------------------------------


def migrations(call: Call) -> Answer:
    store, root = call.engine.read(), call.place.root
    files = scan(root, call.packs.protocol(PACK).settings["migrations"])
    series: Series = states.state(store, "series", SERIES)[0]
    known = known_tables(lambda name: states.task(store, name)[0], series, files)
    assigned = [
        {
            "number": one.data["text"],
            "issue": one.data["issue"],
            "file": one.data["file"],
            "exists": os.path.isfile(os.path.join(root, one.data["file"])),
            "tables": one.data["tables"],
        }
        for one in series.given.values()
    ]
    tables = [{"name": name, "migration": file.number, "issue": None} for name, file in known.existing.items()]
    pending = [(name, one.data["issue"]) for one in known.pending for name in one.data["creates"]]
    tables += [{"name": name, "migration": "", "issue": issue} for name, issue in pending]
    after = max([series.last, *(int(file.number) for file in files)]) + 1
    there = {True: "written", False: "not written yet"}
    rows = tuple((one["number"], f"#{one['issue']}", one["file"], there[one["exists"]]) for one in assigned)
    lines = [f"The next number is {after}.", *(f"{number} {issue} {file}: {how}" for number, issue, file, how in rows)]
    lines += [f"{name}: migration {file.number}" for name, file in known.existing.items()]
    lines += [f"{name}: pending, #{issue}" for name, issue in pending]
    return Answer(
        result={"next": after, "assigned": assigned, "tables": tables},
        say=tuple(lines),
        table=Table(("number", "issue", "file", "state"), rows, title="Migrations") if rows else None,
    )


MIGRATIONS = Verb(
    "specflow migrations",
    "Show the next migration number, the assigned ones, and the tables.",
    migrations,
    kind="look",
    examples=("moot specflow migrations",),
    writes=False,
)
