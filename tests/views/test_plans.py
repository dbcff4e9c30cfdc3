"""A query must not become slower as the log grows: SQLite says how it would carry out each of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from moot.views.store import SQL, Store

if TYPE_CHECKING:
    from pathlib import Path

# What looks at everything on purpose: a person asked for the whole board, all that waits, or all that an agent said.
WHOLE = {
    "everything",
    "everything_of_entity",
    "tasks",
    "task_counts",
    "task_ids",
    "task_ids_by_state",
    "open_everywhere",
    "messages_of_agent",
    "effects",
    "effect_counts",
}
# These walk an index of exactly what they want: as far as a limit, or what runners perform at the moment.
BOUNDED = {"ready", "open_per_mailbox", "overdue", "running_effects"}


@pytest.mark.promise(15)
@pytest.mark.parametrize("name", sorted(SQL.keys() - WHOLE - BOUNDED))
def test_a_query_finds_its_rows_by_an_index(name: str, tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    query = SQL[name]
    numbered = [int(n) for n in re.findall(r"\?(\d)", query)]
    bindings = ("[]",) * (max(numbered) if numbered else query.count("?"))
    plan = [row[3] for row in store.db.execute(f"EXPLAIN QUERY PLAN {query}", bindings)]
    tables = [
        step
        for step in plan
        if step.startswith("SCAN") and not re.match(r"SCAN (b\b|j\b|json_each\b|r\b|CONSTANT ROW|\(subquery-)", step)
    ]
    store.close()
    assert not tables, f"{name} walks through a table: {plan}"
