"""The number of new messages: the same as counting them one by one, at a price that does not depend on it."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from moot.core.deciders.mailbox import Bury, Clear, Expire, Restore
from moot.core.errors import MootError
from moot.core.json_codec import dumps
from moot.views import queries
from tests.engine.harness import ANNA, Command, Machine, ack, answer, join, offer, send

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from moot.views.store import Store

ONE_BY_ONE = """
SELECT count(*) FROM json_each(?1) b CROSS JOIN delivery d ON d.open = 1 AND d.mailbox = b.value
CROSS JOIN message m ON m.position = d.position
WHERE NOT EXISTS (SELECT 1 FROM json_each(d.seen) j WHERE j.value = ?2)
  AND (d.taker IS NULL OR instr(lower(d.taker) || '#', ?3 || '#') = 1)
  AND (m.body ->> 'expires' IS NULL OR unixepoch(m.body ->> 'at', 'subsec') + (m.body ->> 'expires') >= ?4)
"""
BOXES = ("Yeats", "Keats", "@dev")
READERS = ("Yeats#1", "Yeats#2", "Keats#1", "Ye#1")
HOURS = (0.0, 60.0, 4000.0)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(tmp_path, tmp_path)
    found.does(join("Yeats", roles=("dev",)), join("Keats", roles=("dev",)))
    yield found
    found.close()


def assert_counted(store: Store, now: float) -> None:
    for reader in READERS:
        for boxes in (("yeats", "@dev"), ("keats", "@dev"), ("@dev",), ("nobody",)):
            asked = (dumps(list(boxes)), reader, reader.partition("#")[0].lower(), now)
            ((expected,),) = store.db.execute(ONE_BY_ONE, asked)
            assert store.value("count_new", *asked) == expected, (reader, boxes)


@pytest.mark.parametrize("seed", range(4))
def test_the_number_is_what_counting_one_by_one_gives(machine: Machine, seed: int) -> None:
    chance, sent, now = random.Random(seed), 0, time.time()
    for step in range(150):
        box, reader = chance.choice(BOXES), chance.choice(READERS)
        ids = tuple({f"m-{chance.randint(1, max(sent, 1))}" for _ in range(3)})
        about = chance.choice((Bury(ids, "gone"), Clear(ids, "reset"), Restore(ids), Expire(ids)))
        steps = [
            offer(box, *ids, to=reader),
            ack(box, *ids, who=reader),
            answer(box, ids[0], reply="m-1", who=reader),
            Command("about", ANNA, lambda work, box=box, about=about: work.do("mailbox", box, about)),
        ]
        try:
            if not sent or chance.random() < 0.4:
                wants, expires = chance.choice(("nothing", "ack", "answer")), chance.choice((None, 0.0, 60.0, 3600.0))
                machine.does(send(f"m-{sent + 1}", *chance.sample(BOXES, 2), wants=wants, expires=expires))
                sent += 1
            else:
                machine.does(chance.choice(steps))
        except MootError:
            continue
        assert_counted(machine.engine.read(), now + HOURS[step % 3])
    assert machine.verify().sound


def steps_to_count(machine: Machine) -> tuple[int, int]:
    """The number of new messages for Yeats, and the instructions that SQLite needs to find it."""
    store, steps = machine.engine.read(), 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    queries.unread(store, "Yeats", 1, {"dev"}, time.time())  # now everything is prepared
    store.db.set_progress_handler(count, 1)
    found = queries.unread(store, "Yeats", 1, {"dev"}, time.time())
    store.db.set_progress_handler(None)
    assert found is not None
    return found[0], steps


@pytest.mark.proves("S3-HARD-06")
def test_to_count_more_messages_takes_no_more_steps(machine: Machine) -> None:
    def write(number: int) -> None:
        names = [f"m-{number}-{i}" for i in range(number)]
        machine.does(*(send(name, "Yeats", "@dev", expires=3600.0) for name in names))
        machine.does(offer("Yeats", *names[: number // 2]), offer("@dev", *names[: number // 2], to="Keats#1"))

    write(10)
    few, steps = steps_to_count(machine)
    write(600)
    many, more = steps_to_count(machine)
    assert (few, many) == (15, 915)
    assert steps == more
