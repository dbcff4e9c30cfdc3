"""What a changed `status.json` means: a status word that an agent reports about itself, or keys of others."""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol.form import Taken
from moot.api.protocol.held_entries import HeldEntries, value_as_written
from moot.core import flat_json, timestamps
from moot.core.deciders.document import ChangeDocument, OpenDocument
from moot.core.errors import MootError, Refused
from moot.core.principal import role
from moot.core.record import Record
from moot.core.schema import Defect
from moot.core.schema.phrases import NOTHING, shown
from moot.core.text import command_line
from moot.packs.orchestrator.statuses import DRIVER, agents, reported
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.form import Instance
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.status_file import StatusContent, StatusForm

_OF_AGENTS = ("status", "currentTask", "lastActivity")  # the keys of an agent's entry


class StatusNews(Record):
    """What one agent changed in the file."""

    key: str = ""  # of its entry
    word: str | None = None
    error: MootError | None = None  # why the entry is held
    foreign: Mapping[str, Any] = {}
    refused: tuple[str, ...] = ()  # what only the driver sets


def compared(form: StatusForm, call: Call, content: StatusContent, memo: Any, author: str) -> StatusNews | None:
    key = next(key for key, name in form.agents.items() if role(name) == author)
    store, entry = call.engine.store, content.content.get(key, {})
    document = states.state(store, "document", form.document)[0]
    now = reported(document, key, agents(form, store)[key])
    base = memo.get(key, {}) if isinstance(memo, dict) else {"status": now.status}
    news = StatusNews(key=key)
    if key == next(iter(form.agents)):
        news = _beside(form, content.content, document.leaves).replace(key=key)
    if not isinstance(entry, dict):
        return news.replace(error=_unfit(form, key, entry))
    word = entry.get("status", now.status)
    changed = word not in (now.status, base.get("status"))
    if changed and not _is_older(entry.get("lastActivity", now.active), now.active):
        known = isinstance(word, str) and word in form.words
        news = news.replace(word=word) if known else news.replace(error=_unfit(form, key, entry))
    return news if news.word or news.error or news.foreign or news.refused else None


def _beside(form: StatusForm, content: Mapping[str, Any], known: Mapping[str, Any]) -> StatusNews:
    """Changes outside the entries of the agents: keys of others, and those that only the driver sets."""
    whole = {key: value for key, value in content.items() if key not in form.agents or isinstance(value, dict)}
    leaves = flat_json.flatten(whole, {})
    own = {f"/{key}/{name}" for key in form.agents for name in _OF_AGENTS} | {f"/{key}" for key in form.agents}
    own |= {*DRIVER, "/orchestrator"}
    of_driver = {at: value for at, value in leaves.items() if at in DRIVER or at.startswith("/lastCycle")}
    before = {at: known.get(at, False if at.endswith("running") else None) for at in of_driver}
    others = {at: value for at, value in leaves.items() if at not in own and not at.startswith("/lastCycle")}
    return StatusNews(
        foreign={at: value for at, value in others.items() if at not in known or not flat_json.same(known[at], value)},
        refused=tuple(at for at, value in of_driver.items() if not flat_json.same(before[at], value)),
    )


def _is_older(written: Any, known: str) -> bool:
    """Whether the entry is from an old copy. An equal time means a change."""
    if not known:
        return False
    there, here = timestamps.parse(written) if isinstance(written, str) else 0.0, timestamps.parse(known)
    return there is not None and here is not None and there < here - 0.0005


def take(form: StatusForm, work: Work, one: Instance, content: StatusContent, news: StatusNews) -> Taken:
    notices: list[Notice] = []
    if news.error is not None:
        held = HeldEntries(
            form.spec,
            ("currentTask",),
            work.store,
            lambda: [value_as_written(content.data, news.key)],
            to=f"@{form.agents[news.key]}",
        )
        if identity := held.hold(work, content.content[news.key], 0, news.error):
            said = f"an entry of {one.name} is held: {news.error.message} {news.error.remedy}"
            notices.append(Notice("entry_held", f"{identity}: {said}"))
    leaves = dict(news.foreign)
    if news.word is not None:
        leaves |= {f"/{news.key}/status": news.word, f"/{news.key}/reportedAt": work.at}
    if leaves:
        try:
            with work.savepoint():
                change(form.document, work, form.agents[news.key], leaves)
        except Refused as error:
            notices.append(Notice("change_refused", f"{one.name}: {error.message} {error.remedy}"))
    if news.refused:
        said = (
            f"{one.name}: {', '.join(news.refused)} is set by `{command_line('run', form.spec.pack)}` only; not taken."
        )
        notices.append(Notice("change_refused", said))
    return Taken(notices=tuple(notices))


def change(document: str, work: Work, author: str, leaves: Mapping[str, Any], gone: tuple[str, ...] = ()) -> None:
    """Change the document, which is opened by its first change."""
    if not work.state("document", document).status:
        pack, _, name = document.split(".")
        work.do("document", document, OpenDocument(mirror=f"{pack}/{name}", leaves={}))
    work.do("document", document, ChangeDocument(author=author, set=leaves, gone=gone))


def defects_of(form: StatusForm, content: Mapping[str, Any]) -> list[Defect]:
    """What is wrong with the entries of the agents."""
    found = (_defect(form, key, content.get(key), NOTHING if key not in content else "") for key in form.agents)
    return [defect for defect in found if defect is not None]


def _defect(form: StatusForm, key: str, entry: Any, missing: str = "") -> Defect | None:
    if not isinstance(entry, dict):
        return Defect(key, "an object with a status", missing or shown(entry))
    word = entry.get("status")
    if isinstance(word, str) and word in form.words:
        return None
    return Defect(f"{key}.status", f"one of {', '.join(form.words)}", shown(word) if "status" in entry else NOTHING)


def _unfit(form: StatusForm, key: str, entry: Any) -> Refused:
    wrong = _defect(form, key, entry)
    assert wrong is not None
    return Refused(
        "bad_status",
        f"The entry {key} has a status that the protocol does not know: {wrong.sentence}.",
        f"Use one of {', '.join(form.words)}, or leave the status to moot: it follows from the log.",
        defects=[wrong.full()],
    )
