"""Unusual sources and projects: each works, or says what is wrong and loses nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moot.surfaces.cli import main
from tests.specs.rspec_v1.shop import METADATA, PAYMENT, SOURCE, SPEC, Shop


@pytest.mark.parametrize(
    "source",
    [
        PAYMENT.replace("\n", "\r\n"),
        f"\ufeff{PAYMENT}",
        PAYMENT + "# filler\n" * 230_000,
        f"{PAYMENT}__END__\nif not ruby (\n",
    ],
    ids=["CRLF", "BOM", "2 MB", "__END__"],
)
def test_line_ends_marks_and_long_files_are_ordinary_input(shop: Shop, source: str) -> None:
    (shop.root / SOURCE).write_bytes(source.encode())
    said = shop.rspec("analyzer", SOURCE, "process")
    assert said.code == 2, said.err
    assert [one["name"] for one in shop.document()["characteristics"]] == ["user_authenticated", "amount"]


def test_a_method_that_is_both_or_defined_by_a_call_says_so(shop: Shop) -> None:
    shop.write(
        "app/a.rb", "class A\n  def go; end\n  def self.go; end\n  %w[x].each { |n| define_method(n) { } }\nend\n"
    )
    said = shop.rspec("analyzer", "app/a.rb", "go")
    assert said.code == 1
    assert "Error: " in said.err
    assert shop.rspec("analyzer", "app/a.rb", ".go").code in (0, 2)
    assert shop.document("tmp/rspec_claude_metadata/metadata_app_a.yml")["target"]["method_type"] == "class"
    assert shop.rspec("analyzer", "app/a.rb", "x").code == 1


@pytest.mark.proves("S1-AN-03")
def test_a_class_that_must_be_named_is_asked_for_by_its_option(shop: Shop) -> None:
    shop.write("app/a.rb", "class A\n  def go; end\nend\nclass B\n  def go; end\nend\n")
    for _ in range(2):  # without a document, and with that of another target
        said = shop.rspec("analyzer", "app/a.rb", "go")
        assert said.err.endswith("Error: go is defined in several classes: A, B.\nRepeat it with --class.\n")
        assert shop.rspec("analyzer", "app/a.rb", "go", "--class", "B").code == 2


def test_a_link_out_of_the_repository_and_other_files_are_refused(shop: Shop, folder: Path) -> None:
    (folder / "secret.rb").write_text(PAYMENT)
    (shop.root / "app/secret.rb").symlink_to(folder / "secret.rb")
    said = shop.rspec("analyzer", "app/secret.rb", "process")
    assert (said.code, said.out) == (1, "")
    assert "leads out of its repository" in said.err
    for words in (("analyzer", "README.md", "x"), ("architect", SPEC), ("run",), ("run", SOURCE, "process", "--wrong")):
        said = shop.rspec(*words)
        assert (said.code, said.out) == (1, ""), words
        assert said.err.startswith("Error: "), words


@pytest.mark.proves("S1-PUR-02")
def test_the_same_source_gives_the_same_bytes_in_another_process_and_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for name in ("one", "two"):
        shop = Shop(folder / name / "shop", folder / name, monkeypatch)
        shop.rspec("analyzer", SOURCE, "process")
        shop.rspec("skeleton", SOURCE)
        shop.write("spec/other_spec.rb", "RSpec.describe String do\n  it('should work') { }\nend\n")
        report = Path(shop.rspec("reviewer", "spec/other_spec.rb").out.strip()).read_text()
        document = re.sub(r"timestamp: .*|source_file_mtime: .*|# moot: .*", "", shop.read(METADATA))
        found.add((document, shop.read(SPEC), report))
    assert len(found) == 1


@pytest.mark.proves("S1-ROOT-03")
def test_a_person_is_asked_once_whether_to_create_tmp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answering(answer: bool) -> None:
        def ask(_lines: tuple[str, ...], question: str) -> bool:
            asked.append(question)
            return answer

        monkeypatch.setattr(main, "_asking", lambda: ask)

    settings = f'packs = ["rspec-v1"]\n[pack.rspec-v1]\nfallback = "{folder}"\n'
    shop = Shop(folder / "shop", folder / "home", monkeypatch, tmp=False)
    shop.write("moot.toml", settings)
    answering(False)
    for _ in range(2):
        said = shop.rspec("analyzer", SOURCE, "process")
        assert said.out.startswith(f"{folder}/shop_rspec_claude_metadata/"), said.err
    assert len(asked) == 1, "the answer is remembered"
    assert not (shop.root / "tmp").exists()
    other = Shop(folder / "other", folder / "home", monkeypatch, tmp=False)
    other.write("moot.toml", settings)
    answering(True)
    assert other.rspec("analyzer", SOURCE, "process").out == f"{other.root}/{METADATA}\n"
