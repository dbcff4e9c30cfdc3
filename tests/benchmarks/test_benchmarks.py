"""That the benchmarks run, name their rows, and tell the truth about their goals. Speed itself proves nothing here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import by_hand, common

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0

GOALS = {
    "send.one.against_bare": ">= 0.4",
    "send.one.against_hand": ">= 0.7",
    "send.30.per_second": None,
    "send.30.against_bare": ">= 0.4",
    "send.30.against_hand": ">= 0.7",
    "send.30.errors": "== 0",
    "send.30.longest_wait.moot": "< 5",
    "send.30.longest_wait.bare": None,
    "send.30.longest_wait.hand": None,
    "start.inbox": "<= 4",
    "start.inbox_new": "<= 4",
    "start.note": "<= 4",
    "start.packed_inbox": None,
    "start.packed_note": None,
    "start.typed": "<= 6",
    "start.hcom_version": None,
    "start.hcom_list": None,
    "start.hcom_send": None,
    "watch.once": None,
    "watch.screen": None,
    "watch.cold": None,
    "follow.median": "< 2",
    "follow.p99": "< 10",
    "follow.poll": None,
    "grow.send": "<= 1.2",
    "grow.inbox": "<= 1.2",
    "stage.overhead": "<= 2.5",
    "stage.overhead_least": None,
    "stage.run_overhead": None,
    "stage.overhead_python": None,
    "stage.reused": "<= 0.3",
    "stage.reused_against_first": ">= 20",
    "stage.ruby_reused": "< 2",
    "stage.ruby_reused_against_first": ">= 20",
    "look.rebuild": None,
    "look.past": None,
    "look.agents_now": None,
    "look.search": None,
    "mailbox.files_alone": None,
    "mailbox.moot": "== {sent}",
    "mailbox.mirror_own": "== {sent}",
    "mailbox.mirror_shared": None,
    "notice.log": "<= 50",
    "million.send": "<= 1.3",
    "million.inbox": "<= 1.3",
    "million.claim": "<= 1.3",
    "million.memory.inbox": "<= 1.1",
    "million.memory.send": "<= 1.1",
    "carry.export": None,
    **{f"emit.{recipe}.{how}.{{emitters}}": None for recipe in ("jq", "node") for how in ("alone", "watched")},
    **{f"emit.{recipe}.own.{{emitters}}": "== {emitters}" for recipe in ("jq", "node")},
    "emit.moot.{emitters}": "== {emitters}",
    "emit.growth": "< 3",
    "emit.api.growth": None,
    **{f"emit.{way}.against_recipe.{size}": "<= 1" for way in ("api", "cli") for size in ("some", "many")},
    **{f"absorb.{form}.commits": "== 1" for form in ("feed", "entries")},
    **{f"absorb.{form}.per_second": None for form in ("feed", "entries")},
    **{f"absorb.{form}.against_insert": None for form in ("feed", "entries")},
    "team.write": ">= 0.7",
    "team.migration": ">= 0.5",
    "team.migration_many": "<= 2",
    "team.wave_parallel": "<= 1.5",
    "team.wave_sequential": "<= 1.5",
    **{f"ruby.{what}": None for what in ("parse", "analyse", "ripper", "analyse_against_ripper")},
}


def run(directory: Path, *words: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """The table and the rows of a run."""
    output = directory / "results.json"
    done = subprocess.run(
        [sys.executable, "benchmarks/run.py", *words, "--output", str(output), "--directory", str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(output.read_text(encoding="utf-8"))


def check(table: str, rows: dict[str, dict[str, Any]], sent: int, emitters: int) -> None:
    assert {name: row["goal"] for name, row in rows.items()} == {
        name.format(emitters=emitters): goal and goal.format(sent=sent, emitters=emitters)
        for name, goal in GOALS.items()
    }
    for name, row in rows.items():
        assert list(row) == ["value", "unit", "goal", "holds", "note"], name
        assert row["note"]
        assert row["unit"]
        if row["value"] is None:
            assert name.startswith(("start.hcom", "ruby.", "stage.ruby")), "only what is not installed may be missing"
            assert "not installed" in row["note"]
            assert f"NOT MEASURED: {name}: " in table
        if row["goal"] is None or row["value"] is None:
            assert row["holds"] is None
        else:
            assert isinstance(row["holds"], bool)
        assert f"\n{name} " in table
    assert rows["send.30.errors"]["value"] == 0
    assert rows["mailbox.moot"]["value"] == sent
    assert rows["mailbox.mirror_own"]["value"] == sent
    assert all(rows[f"emit.{how}.{emitters}"]["value"] == emitters for how in ("jq.own", "node.own", "moot"))
    assert [rows[f"absorb.{form}.commits"]["value"] for form in ("feed", "entries")] == [1, 1]


@pytest.mark.timeout(PATIENCE + 30)
def test_a_run_gives_every_row_with_its_goal_and_names_no_path(tmp_path: Path) -> None:
    table, rows = run(tmp_path, "--size", "smoke")
    check(table, rows, sent=24, emitters=3)
    said = table + json.dumps(rows)
    for place in (ROOT, tmp_path, Path.home(), Path(sys.prefix)):
        assert f"{place}/" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"], "everything else is cleared away"


@pytest.mark.soak
@pytest.mark.timeout(PATIENCE + 30)
def test_the_quick_run_gives_every_row(tmp_path: Path) -> None:
    check(*run(tmp_path, "--quick"), sent=200, emitters=20)


@pytest.mark.parametrize(
    ("value", "goal", "holds"),
    [
        (0.4, ">= 0.4", True),
        (0.39, ">= 0.4", False),
        (4.0, "<= 4", True),
        (4.01, "<= 4", False),
        (2.0, "< 2", False),
        (200, "== 200", True),
        (199, "== 200", False),
        (1.0, None, None),
        (None, "<= 4", None),
    ],
)
def test_a_goal_holds_or_does_not(value: float | None, goal: str | None, holds: bool | None) -> None:
    assert common.Row("name", value, "x", goal, "note").holds is holds


def test_every_variant_has_its_turn_in_every_round() -> None:
    turns: list[str] = []
    costs = {"one": 2.0, "two": 4.0, "three": 8.0}

    def variant(name: str) -> float:
        turns.append(name)
        return costs[name]

    rounds = common.interleaved({name: lambda name=name: variant(name) for name in costs}, seconds=0, least=50)
    assert Counter(turns) == dict.fromkeys(costs, 50)
    assert all(set(turns[start : start + 3]) == set(costs) for start in range(0, 150, 3))
    assert len({tuple(turns[start : start + 3]) for start in range(0, 150, 3)}) > 1, "the order is random"
    assert rounds.ratio("three", "one").median == 4.0


def test_a_ratio_is_taken_inside_its_round() -> None:
    rounds = common.Rounds()
    for slowdown in (1, 10, 100):
        rounds.add("ours", 3.0 * slowdown)
        rounds.add("theirs", 1.0 * slowdown)
    assert rounds.ratio("ours", "theirs") == common.Spread(3.0, 3.0, 3.0, 3)


def test_the_share_that_a_percentile_names_does_not_exceed_it() -> None:
    values = [float(n) for n in range(1, 101)]
    assert common.percentile(values, 0.99) == 99.0
    assert common.percentile(values, 0.5) == 50.0
    assert common.percentile([7.0], 0.99) == 7.0


def test_rows_written_by_hand_that_are_not_those_of_moot_are_noticed(tmp_path: Path) -> None:
    said = {"one": "four", "other": "four and more"}
    for name, text in said.items():
        by_hand.create(str(tmp_path / name))
        writer = by_hand.ByHand(str(tmp_path / name))
        writer.send(text)
        writer.close()
    one, other = tmp_path / "one", tmp_path / "other"
    assert by_hand.differences(str(one / "log.db"), str(one / "views.db"), str(one)) == []
    assert by_hand.differences(str(one / "log.db"), str(one / "views.db"), str(other)) == ["event", "message"]
