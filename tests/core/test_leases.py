"""Silence is judged in one place."""

import ast
from pathlib import Path

import pytest

from moot.core.task.leases import has_lapsed

SRC = Path(__file__).resolve().parents[2] / "src" / "moot"


@pytest.mark.promise(8)
@pytest.mark.parametrize(
    ("silent_for", "ttl", "over"),
    [(60.1, 60, True), (60.0, 60, False), (0.0, 60, False), (1e9, 0, False), (None, 60, False)],
)
def test_a_lease_is_lost_after_a_silence_longer_than_its_ttl(silent_for, ttl, over):
    assert has_lapsed(silent_for, ttl) is over


def _speaks_of_silence(node: ast.AST) -> bool:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return any("silen" in name for name in names)


def test_nothing_else_compares_a_silence_with_a_ttl():
    found = [
        f"{path.relative_to(SRC)}:{node.lineno}"
        for path in sorted(SRC.rglob("*.py"))
        if path.name != "leases.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare)
        and any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops)
        and _speaks_of_silence(node)
    ]
    assert found == []
