"""A reviewer sees what to review, and is not asked to judge what is judged already."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.command import git, new_command


def test_a_reviewer_finds_the_work_and_a_verdict_settles_the_request(tmp_path: Path) -> None:
    run = new_command(tmp_path)
    assert run("init").code == 0
    run("task", "add", "Write the parser")
    for name in ("Ada", "Cid"):
        assert run("join", name, "--role", "reviewer").code == 0
    assert run("start", "Bob", cwd=run.linked).code == 0
    assert run("claim", "src/**", "--task", "task-001", agent="Bob", cwd=run.linked).code == 0
    (run.linked / "src").mkdir()
    (run.linked / "src" / "parser.py").write_text("x = 1\n")
    git(run.linked, "add", "-A")
    git(run.linked, "commit", "-q", "-m", "A parser")
    (run.linked / "src" / "lexer.py").write_text("y = 2\n")
    assert run("check", "--", "true", agent="Bob", cwd=run.linked).code == 0
    assert run("task", "submit", "task-001", agent="Bob", cwd=run.linked).code == 0

    # Ada looks at it: where the work is, what it is, and how to judge it.
    assert "Bob submitted task-001 for review" in run("inbox", "--peek", agent="Ada").out
    shown = run("task", "show", "task-001", agent="Ada").out
    commit = git(run.linked, "rev-parse", "HEAD").strip()
    for fact in ("claims: src/**", f"worktree: {run.linked}", f"commit: {commit}", "changed files: src/lexer.py"):
        assert fact in shown
    assert "moot task approve task-001" in shown
    assert "moot task approve task-001" not in run("task", "show", "task-001", agent="Bob").out

    # Her verdict settles the request that Cid has not read yet. Next day there is a new submission.
    assert run("task", "reject", "task-001", "--reason", "No test.", agent="Ada").code == 0
    assert "submitted" not in run("inbox", agent="Cid").out
    assert run("board", agent="Cid").err == ""
    assert run("start", agent="Bob", cwd=run.linked).code == 0
    assert run("task", "submit", "task-001", agent="Bob", cwd=run.linked).code == 0
    assert "Bob submitted task-001 for review (attempt 2)" in run("inbox", agent="Cid").out
    assert run("task", "approve", "task-001", agent="Cid").code == 0
    assert "submitted" not in run("inbox", agent="Ada").out
    assert run("verify").code == 0


def test_a_reviewer_is_sent_to_the_worktree_where_the_author_checked_the_work(tmp_path: Path) -> None:
    run = new_command(tmp_path)
    assert run("init").code == 0
    run("task", "add", "Write the parser")
    assert run("join", "Ada").code == 0
    assert run("start", "Bob").code == 0  # in the main worktree; the work is done in the other one
    (run.repo / "stray.txt").write_text("of somebody else\n")
    (run.linked / "parser.py").write_text("x = 1\n")
    assert run("check", "--", "true", agent="Bob", cwd=run.linked).code == 0
    assert run("task", "submit", "task-001", "--receipt", "last", agent="Bob", cwd=run.linked).code == 0
    shown = run("task", "show", "task-001", agent="Ada").out
    commit = git(run.linked, "rev-parse", "HEAD").strip()
    for fact in (f"worktree: {run.linked}", f"commit: {commit}", "changed files: parser.py"):
        assert fact in shown
    assert "stray.txt" not in shown

    git(run.repo, "worktree", "remove", "--force", str(run.linked))
    shown = run("task", "show", "task-001", agent="Ada").out
    assert f"commit: {commit}" in shown, "what the check saw is known, although its worktree is gone"
    assert "worktree:" not in shown
