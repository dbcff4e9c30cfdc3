"""The db-coordinator: hands out migration numbers, and knows which tables exist, are pending, or are in conflict.

A request and its answer are in one commit. What the directory of migrations contains is looked up before it (`scan`).
"""

from __future__ import annotations

import os
import re  # noqa: TID253 (loaded only for requests about tables)
import time

from moot.core.deciders.series import AssignNumber
from moot.core.record import Record
from moot.packs.specflow.team import LEAD, PACK, Issue
from moot.place import caches
from moot.place.gitdir import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.core.deciders.series import Assignment, Series
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.team import Wave

    Answer = Callable[..., None]  # kind, data, to

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
    still_open = {number for number in numbers if _is_open(task(f"issue-{number}"))}
    pending = [one for one in series.given.values() if one.data["issue"] in still_open]
    unfinished = {one.data["file"] for one in pending}
    existing: dict[str, MigrationFile] = {}
    for file in files:
        for table, made in file.effects if file.file not in unfinished else ():
            existing.pop(table, None)
            existing |= {table: file} if made else {}
    return KnownTables(existing, [one for one in pending if one.data["issue"] != besides])


def _is_open(task: Task) -> bool:
    return task.exists and Issue.of_task(task).is_open


def query(work: Work, files: Sequence[MigrationFile], table: str, answer: Answer) -> None:
    """Answer whether a table exists."""
    known = known_tables(work.task, work.state("series", SERIES), files)
    name = str(table_name(table))
    if (found := known.existing.get(name)) is not None:
        answer("TABLE_EXISTS", {"migration": found.number, "table": name, "file": found.file})
    elif (pending := known.creator(name)) is not None:
        answer("TABLE_PENDING", {"issue": pending.data["issue"], "table": name})
    else:
        answer("TABLE_NOT_FOUND", {"table": name})


def request(
    work: Work, wave: Wave, files: Sequence[MigrationFile], folder: str, asked: Mapping[str, Any], answer: Answer
) -> None:
    """Assign a number, or refuse the request because of a conflict."""
    number, tables = asked["issue"], list(dict.fromkeys(str(table_name(one)) for one in asked["tables"]))
    key = f"{number}:{','.join(sorted(tables))}"
    series: Series = work.state("series", SERIES)
    if key not in series.given:
        known = known_tables(work.task, series, files, number)
        before = needed(work, f"issue-{number}")
        creates = [one for one in tables if one not in known.existing]
        rivals = {
            table: rival
            for table in creates
            if (rival := known.creator(table)) and f"issue-{rival.data['issue']}" not in before
        }
        if rivals:
            _refuse(wave, number, rivals, answer)
            return
        creates = [one for one in creates if known.creator(one) is None]
        work.do("series", SERIES, _command(key, number, tables, creates, files, series, folder), pack=PACK)
        given = work.state("series", SERIES).given[key]
        _order(wave, given, known, answer)
    given = work.state("series", SERIES).given[key]
    fields = {"number": given.data["text"], "file": given.data["file"], "issue": number, "tables": tables}
    answer("MIGRATION_ASSIGNED", fields)


def _command(
    key: str,
    number: int,
    tables: list[str],
    creates: list[str],
    files: Sequence[MigrationFile],
    series: Series,
    folder: str,
) -> AssignNumber:
    last = max(series.given.values(), key=lambda one: one.number).data["text"] if series.given else ""
    newest = files[-1].number if files else ""
    name = "_".join(one.replace(".", "_") for one in tables)[:_LONGEST].rstrip("_")
    return AssignNumber(
        key=key,
        above=int(newest or 0),
        width=len(newest or last),
        data={
            "issue": number,
            "tables": tables,
            "creates": creates,
            "text": "{number}",
            "file": f"{folder.rstrip('/')}/{{number}}_{name}.sql",
        },
    )


def needed(work: Work, task: str) -> set[str]:
    """The tasks that this one depends on, directly or through others."""
    needs = work.graph((task,)).needs
    found, front = set[str](), {task}
    while front := {need for name in front for need in needs.get(name, ())} - found:
        found |= front
    return found


def _refuse(wave: Wave, number: int, rivals: Mapping[str, Assignment], answer: Answer) -> None:
    for rival in dict.fromkeys(one.data["issue"] for one in rivals.values()):
        tables = [table for table, one in rivals.items() if one.data["issue"] == rival]
        details = (
            f"{_listed(tables)} created by #{rival}, and #{number} asked to create the same: the request of #{number} "
            f"was refused. Depend on #{rival}, or use another name."
        )
        _tell(wave, tables[0], details, (number, rival), refused=True, answer=answer)


def _order(wave: Wave, given: Assignment, known: KnownTables, answer: Answer) -> None:
    """Tell the agents whose migrations change the same tables that they are applied in the order of their numbers."""
    number = given.data["issue"]
    for rival in known.pending:
        shared = [table for table in given.data["tables"] if table in rival.data["tables"]]
        if shared:
            details = (
                f"{_listed(shared)} changed by #{rival.data['issue']} ({rival.data['text']}) and #{number} "
                f"({given.data['text']}): apply the two in number order, nothing was refused."
            )
            _tell(wave, shared[0], details, (number, rival.data["issue"]), refused=False, answer=answer)


def _listed(tables: Sequence[str]) -> str:
    return f"{', '.join(tables)} {'are' if len(tables) > 1 else 'is'}"


def _tell(wave: Wave, table: str, details: str, issues: tuple[int, int], *, refused: bool, answer: Answer) -> None:
    """One message to each of the two agents, and to the lead if the request was refused."""
    data = {"table": table, "details": details, "issues": list(issues), "refused": refused}
    if refused:
        answer("CONFLICT", data)
        answer("CONFLICT", data, to=wave.agent_in(LEAD))
    else:
        answer("CONFLICT", data, to=getattr(wave.of_issue(issues[0]), "agent", ""))
    if (other := wave.of_issue(issues[1])) is not None:
        answer("CONFLICT", data, to=other.agent)
