"""The code of the test pipeline. A file `FAULT` beside the sources says where the process kills itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import ClassVar

from moot.api.protocol import Protocol
from moot.core.deciders.document import key
from moot.runs.contract import DocumentRef, Pipeline, Problem, StageError, StageOutput


class Notes(Protocol):
    pipeline = "notespack.protocol:NotesPipeline"


def fault(root, point):
    """End this process as `kill -9` would, if the file says so. Once: the file is removed first."""
    path = Path(root, "FAULT")
    if path.exists() and path.read_text().strip() == point:
        path.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def outline(given):
    fault(given.target.root, "in outline")
    text = given.text("source")
    if text.startswith("broken"):
        raise StageError("the text is broken", suggestion="Write another one.", document={"/outline": []})
    headings = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    return StageOutput(document={"/outline": headings}, warnings=() if headings else ("there are no headings",))


def draft(given):
    return StageOutput(skip="there is nothing to report" if given.document["outline"] == [] else "")


def polish(given):
    fault(given.target.root, "in polish")
    report = given.text("report")
    if "foreign" in report:
        return StageOutput(document={"/outline": ["mine"]})
    if "elsewhere" in report:
        return StageOutput(files={"other.md": b"x"})
    return StageOutput(files={given.path("report"): (report.rstrip() + "\n").encode()})


def check(given):
    fault(given.target.root, "in check")
    if "programs" in given.text("report"):
        ran = given.run(["/bin/sh", "-c", "sleep 60 & sleep 60"], timeout=0.3)
        assert ran.code == 0
    return StageOutput(document={"/lines": len(given.text("report").splitlines())})


def outline_is_valid(given):
    fault(given.target.root, "before draft")
    if not isinstance(given.document["outline"], list):
        yield Problem("expected a list", key="/outline")


def names_every_heading(before, after):
    fault(after.target.root, "after draft")
    report = after.file("report")
    if report is None:
        yield Problem("there is no report", path=after.path("report"))
        return
    for heading in before.document["outline"]:
        if heading.encode() not in report:
            yield Problem(f"{heading!r} is missing", path=after.path("report"), line=1)
    if b"TODO" in report:
        yield Problem("there is something to do", path=after.path("report"), blocks=False)


def keeps_words(before, after):
    fault(after.target.root, "after polish")
    if len(after.text("report").split()) < len(before.text("report").split()):
        yield Problem("words are missing", path=after.path("report"))


class NotesPipeline(Pipeline):
    stages: ClassVar = {"outline": outline, "draft_report": draft, "polish": polish, "check": check}
    checks: ClassVar = {"outline-is-valid": outline_is_valid}
    criteria: ClassVar = {"names-every-heading": names_every_heading, "keeps-words": keeps_words}

    def targets(self, site, paths):
        found = []
        for one in super().targets(site, paths):
            slug = one.paths["source"][0].replace("/", "_").removesuffix(".txt")
            worktree = site.place.worktree
            ref = DocumentRef(
                key=key("notes", worktree, f"note.{slug}"),
                mirror="notes/note",
                worktree=worktree,
                subject=slug,
                path=f"notes/{slug}.json",
            )
            folder = Path(one.root, one.paths["source"][0]).parent.name
            wave = int(folder.removeprefix("wave")) if folder.startswith("wave") else 0
            found.append(one.replace(document=ref, wave=wave))
        return found

    def prompt(self, given):
        fault(given.target.root, "in prompt")
        return super().prompt(given)
