"""Damage in the repository: to the document by an agent or a person, and odd things where files should be."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

BOOK, SPEC, METADATA = "app_models_book", "spec/models/book_spec.rb", "tmp/rspec_metadata"
PATIENCE = 60


@pytest.mark.parametrize("damage", ["open(path, 'w').write('invalid yaml [[[')", "os.unlink(path)", "rmtree(folder)"])
def test_an_agent_that_ruins_the_document_fails_and_the_values_stay(shop: Shop, damage: str) -> None:
    shop.stock("models/book")
    path = f"folder = {METADATA!r}\npath = folder + '/{BOOK}.yml'\n"
    code = f"import atexit, os\nfrom shutil import rmtree\n{path}atexit.register(lambda: {damage})\n"
    agent = shop.file("agent.py")
    future = "from __future__ import annotations\n"
    shop.write("agent.py", agent.replace(future, future + code, 1) if future in agent else code + agent)
    shop.open()
    with pytest.raises(Refused, match=f"{METADATA}/{BOOK}.yml.*(cannot be parsed|was deleted)"):
        shop.cover()
    document = shop.document(BOOK)
    assert document["behaviors"]
    assert document["automation"]["test_architect_completed"] is True
    assert document["automation"]["factory_agent_completed"] is False


def test_a_document_whose_folder_was_deleted_is_written_again(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    shop.cover()
    before = shop.document(BOOK)
    shutil.rmtree(shop.root / METADATA)
    shop.cover()
    assert shop.document(BOOK) == before


def test_a_folder_of_documents_that_leads_elsewhere_is_named_with_what_helps(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    (shop.root.parent / "elsewhere").mkdir()
    (shop.root / "tmp").mkdir(exist_ok=True)
    (shop.root / METADATA).symlink_to("../../elsewhere")
    said = shop.moot("rspec", "cover", "--branch", "--yes", code=1)
    assert f"{BOOK}.yml cannot be read: " in said
    assert "points out of" in said
    assert "Put a regular file there, in a folder of this repository" in said
    assert "doc restore" not in said
    assert not list((shop.root.parent / "elsewhere").iterdir())


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_something_else_in_the_place_of_a_spec_is_refused(shop: Shop, make) -> None:
    shop.stock("models/book")
    shop.open()
    (shop.root / SPEC).parent.mkdir(parents=True, exist_ok=True)
    make(shop.root / SPEC)
    said = shop.moot("rspec", "cover", "--branch", "--yes", code=1)
    assert f"{SPEC} is not a regular file" in said


def test_a_signal_to_cover_ends_the_agent_and_the_run_is_interrupted(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write("agent.py", "import os, time\nopen('tmp/up', 'w').write(f'{os.getpid()}.')\ntime.sleep(60)\n")
    shop.open()
    command = [sys.executable, "-m", "moot", "rspec", "cover", "--branch", "--yes"]
    process = subprocess.Popen(command, cwd=shop.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    up, end = shop.root / "tmp/up", time.monotonic() + PATIENCE
    try:
        while not (up.exists() and up.read_text().endswith(".")):
            assert time.monotonic() < end, "the agent does not start"
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 130
    finally:
        process.kill()
        process.wait(PATIENCE)
    with pytest.raises(ProcessLookupError):
        os.kill(int(up.read_text()[:-1]), 0)
    assert "interrupted" in shop.moot("run", "status")


@pytest.mark.proves("S2-HARD-05")
def test_an_agent_cannot_hide_how_it_makes_tests_pass(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shop.root.parent / "settings"))
    shop.stock("models/book")
    shop.write(".gitignore", "tmp/\n.rspec-local\n")
    shop.open("rigs")
    with pytest.raises(Refused) as failed:
        shop.cover()
    marks = shop.document("app_models_book")["automation"]
    assert marks["test_implementer_completed"] is False
    said = "\n".join(marks["errors"])
    for path in (
        ".rspec-local",
        ".git/info/exclude",
        "spec/support/rigged.rb",
        "$XDG_CONFIG_HOME/rspec/options",
    ):
        assert f"{path}: changed while the stage ran, which may not write it" in said, failed.value


@pytest.mark.proves("S2-AN-17")
def test_a_remnant_of_the_older_format_in_a_document_is_reported(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    shop.cover()
    path = shop.root / METADATA / f"{BOOK}.yml"
    path.write_text(path.read_text() + "test_level: unit\n")
    (report,) = shop.cover().files
    assert any("test_level: is a remnant of the older format" in warning for warning in report.warnings)
    assert "test_level: unit\n" in path.read_text(), "what moot does not know stays"


@pytest.mark.proves("S2-META-03", "S2-AN-17")
def test_a_file_that_was_there_before_is_refused_for_another_source_and_warned_of_in_the_older_format(
    shop: Shop,
) -> None:
    shop.stock("models/book")
    shop.open()
    path = f"{METADATA}/{BOOK}.yml"
    other = "source_file: app/models/customer.rb\nclass_name: Customer\n"
    shop.write(path, other)
    with pytest.raises(Refused, match=f"{path} is about app/models/customer.rb") as refused:
        shop.cover()
    assert refused.value.remedy
    assert shop.file(path) == other
    shop.write(path, "test_level: unit\ntarget:\n  class: Book\n")
    said = shop.moot("rspec", "cover", "--branch", "--yes", code=2)
    for key in ("test_level", "target"):
        assert f"{path}: {key} is a remnant of the older format" in said
