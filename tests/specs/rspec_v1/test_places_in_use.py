"""Where the files of a pipeline go: several repositories, worktrees, no `tmp`, no repository, equal names."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import moot
from moot.surfaces.cli import main
from tests.specs.rspec_v1.shop import AGENT, AGENTS, HELPER, METADATA, PAYMENT, SOURCE, SPEC, Said, Shop
from tests.unprivileged import unprivileged

REPOSITORY = Path(__file__).parents[3]
SOURCES = str(Path(moot.__file__).resolve().parents[1])


@pytest.mark.proves("S1-ROOT-02", "S1-ROOT-01")
def test_started_in_a_parent_folder_everything_goes_into_the_project_of_the_source(shop: Shop) -> None:
    parent = shop.root.parent
    other = parent / "project2"
    (other / "tmp").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(other)], check=True, timeout=30)
    before = {path: sorted(os.listdir(path)) for path in (parent, other, other / ".git")}
    said = shop.rspec("analyzer", f"shop/{SOURCE}", "process", cwd=parent)
    assert said.out == f"{shop.root}/{METADATA}\n", said.err
    assert shop.document()["target"]["file"] == SOURCE
    home = {"home"}
    after = {path: sorted(set(os.listdir(path)) - home) for path in before}
    assert after == {path: sorted(set(names) - home) for path, names in before.items()}


@pytest.mark.proves("S1-META-02", "S1-ROOT-03", "S1-HARD-15", "S1-REP-01")
def test_without_tmp_the_system_directory_is_used_with_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(folder / "shop", folder / "home", monkeypatch, tmp=False)
    system = folder / "system"
    system.mkdir()
    shop.write("moot.toml", f'packs = ["rspec-v1"]\n[pack.rspec-v1]\nfallback = "{system}"\n')
    said = shop.rspec("analyzer", SOURCE, "process")
    plain = system / "shop_rspec_claude_metadata"
    assert said.out == f"{plain}/metadata_app_services_payment.yml\n", said.err
    assert "Warning: " in said.err
    assert "create tmp" in said.err
    assert plain.stat().st_mode & 0o777 == 0o700
    twin = Shop(folder / "twin" / "shop", folder / "home", monkeypatch, tmp=False)
    twin.write("moot.toml", f'packs = ["rspec-v1"]\n[pack.rspec-v1]\nfallback = "{system}"\n')
    said = twin.rspec("analyzer", SOURCE, "process")
    assert said.out.startswith(f"{system}/shop_"), said.err
    assert not said.out.startswith(f"{plain}/"), "another project of the same name has its own folder"
    assert "is not used: it belongs to" in said.err


@pytest.fixture
def without_tmp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A project without `tmp`. The system directory is `system`."""
    shop = Shop(folder / "shop", folder / "home", monkeypatch, tmp=False)
    (folder / "system").mkdir()
    shop.write("moot.toml", f'packs = ["rspec-v1"]\n[pack.rspec-v1]\nfallback = "{folder}/system"\n')
    return shop


def obeying(shop: Shop) -> Callable[..., Said]:
    """Runs commands in a process of their own that obeys permission bits, whoever runs the tests."""

    def rspec(*words: str) -> Said:
        command = [sys.executable, "-m", "tests.unprivileged", sys.executable, "-m", "moot", "rspec-v1", *words]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(REPOSITORY), SOURCES))}
        ran = subprocess.run(command, cwd=shop.root, env=env, capture_output=True, text=True, timeout=60, check=False)
        return Said(ran.returncode, ran.stdout, ran.stderr)

    return rspec


@pytest.mark.proves("S1-ROOT-03", "S1-META-02")
@pytest.mark.parametrize(
    ("tmp", "reason"),
    [
        ("removed", "has no tmp directory"),
        ("a file", "/tmp is not a directory"),
        ("a link", "/tmp is a link"),
        ("read-only", "/tmp cannot be written"),
        ("read-only inside", "/tmp cannot be written"),
    ],
)
def test_a_tmp_that_cannot_be_used_any_more_is_replaced_by_the_system_directory_with_a_warning(
    without_tmp: Shop, folder: Path, tmp: str, reason: str
) -> None:
    shop, place, fallback = without_tmp, without_tmp.root / "tmp", f"{folder}/system/shop_rspec_claude_metadata"
    place.mkdir()
    assert shop.rspec("analyzer", SOURCE, "process").out == f"{shop.root}/{METADATA}\n"
    if tmp.startswith("read-only"):
        (place / "rspec_claude_metadata" if "inside" in tmp else place).chmod(0o555)
        if "inside" not in tmp:
            (place / "rspec_claude_metadata").rename(folder / "aside")
    else:
        place.rename(folder / "aside")
    if tmp == "a file":
        place.write_text("")
    elif tmp == "a link":
        place.symlink_to(folder / "aside")
    rspec = obeying(shop) if tmp.startswith("read-only") else shop.rspec
    for words in (("analyzer", SOURCE, "process"), ("skeleton", SOURCE)):
        said = rspec(*words)
        assert said.code == 2, said.err
        assert f"Warning: {shop.root}" in said.err
        assert f"{reason}, so {fallback} is used; " in said.err
    assert rspec("path", SOURCE).out == f"{fallback}/metadata_app_services_payment.yml\n"
    for path in (place, place / "rspec_claude_metadata"):
        if path.is_dir():
            path.chmod(0o755)


@pytest.mark.proves("S1-ROOT-03")
def test_a_person_is_asked_for_tmp_once_and_the_answer_is_remembered(
    without_tmp: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(*, yes: bool) -> None:
        def ask(lines: tuple[str, ...], question: str) -> bool:
            asked.append(f"{lines[0]} {question}")
            return yes

        monkeypatch.setattr(main, "_asking", lambda: ask)

    answer(yes=False)
    said = without_tmp.rspec("analyzer", SOURCE, "process")
    assert said.out.startswith(f"{folder}/system/"), said.err
    assert "no tmp directory" not in said.err, "the person has just chosen that"
    without_tmp.rspec("analyzer", SOURCE, "process")
    fallback = f"{folder}/system/shop_rspec_claude_metadata"
    assert asked == [f"{without_tmp.root} has no tmp directory. Create it? Otherwise {fallback} is used."]
    other = Shop(folder / "other", folder / "home", monkeypatch, tmp=False)
    answer(yes=True)
    assert other.rspec("analyzer", SOURCE, "process").out == f"{other.root}/{METADATA}\n"


@pytest.mark.proves("S1-ROOT-03")
def test_a_tmp_that_cannot_be_created_although_the_person_wants_it_is_not_the_end(
    without_tmp: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "_asking", lambda: lambda _lines, _question: True)
    without_tmp.rspec("path", SOURCE)  # creates the workspace
    without_tmp.root.chmod(0o555)
    try:
        with unprivileged():
            said = without_tmp.rspec("analyzer", SOURCE, "process")
    finally:
        without_tmp.root.chmod(0o755)
    assert said.out.startswith(f"{folder}/system/"), said.err
    assert f"Warning: {without_tmp.root}/tmp cannot be created: Permission denied." in said.err


@pytest.mark.proves("S1-HARD-15")
def test_queries_never_look_into_the_folder_of_another_project_of_the_same_name(
    without_tmp: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = without_tmp.rspec("analyzer", SOURCE, "process").out
    twin = Shop(folder / "twin" / "shop", folder / "home", monkeypatch, tmp=False)
    twin.write("moot.toml", without_tmp.read("moot.toml"))
    os.utime(twin.root / SOURCE, ns=(1, (without_tmp.root / SOURCE).stat().st_mtime_ns))
    assert twin.rspec("path", SOURCE).out != first
    assert twin.rspec("cache", SOURCE).out == "INVALID\n", "the document of the other project says nothing here"


@pytest.mark.proves("S1-HARD-15")
def test_a_fallback_folder_that_is_a_link_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(folder / "shop", folder / "home", monkeypatch, tmp=False)
    system, bait = folder / "system", folder / "bait"
    system.mkdir()
    bait.mkdir()
    (system / "shop_rspec_claude_metadata").symlink_to(bait)
    shop.write("moot.toml", f'packs = ["rspec-v1"]\n[pack.rspec-v1]\nfallback = "{system}"\n')
    said = shop.rspec("analyzer", SOURCE, "process")
    assert said.code in (0, 2), said.err
    assert "it is a link" in said.err
    assert os.listdir(bait) == []


class Loose:
    """Sources outside any repository, and the private workspace, whose documents are in `system`."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        self.shop, self.system, self.private = shop, folder / "system", folder / "home/state/moot/private"
        self.private.mkdir(parents=True, mode=0o700)
        self.system.mkdir()
        (self.private / "moot.toml").write_text(f'packs = ["rspec-v1"]\n[pack.rspec-v1]\nfallback = "{self.system}"\n')
        self.one, self.other = (self._project(folder / name) for name in ("one", "other"))

    def _project(self, root: Path) -> Path:
        (root / "app").mkdir(parents=True)
        (root / "app/payment.rb").write_text(PAYMENT)
        return root


@pytest.fixture
def loose(shop: Shop, folder: Path) -> Loose:
    return Loose(shop, folder)


@pytest.mark.proves("S1-ROOT-04", "S1-ROOT-01")
def test_a_source_outside_any_repository_works_in_the_private_workspace(loose: Loose) -> None:
    said = loose.shop.rspec("analyzer", "app/payment.rb", "process", cwd=loose.one)
    stem = str(loose.one / "app/payment").strip("/").replace("/", "_")
    assert said.out == f"{loose.system}/rspec_claude_metadata/metadata_{stem}.yml\n", said.err
    assert sorted(os.listdir(loose.one)) == ["app"]
    assert (loose.system / "rspec_claude_metadata").stat().st_mode & 0o777 == 0o700


@pytest.mark.proves("S1-ROOT-04", "S1-ENG-03")
@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_the_whole_pipeline_runs_on_a_source_outside_any_repository_in_its_own_folder(loose: Loose) -> None:
    root = loose.one
    (root / "spec").mkdir()
    (root / "spec/spec_helper.rb").write_text(HELPER.replace("app/services/", "app/"))
    command = json.dumps([sys.executable, str(AGENT), "good"])
    with (loose.private / "moot.toml").open("a") as file:
        file.write("[run.rspec-v1]\n" + "".join(f"{name} = {command}\n" for name in AGENTS))
    said = loose.shop.rspec("run", "app/payment.rb", "process", cwd=root)
    (allow,) = [line for line in said.err.splitlines() if "allow" in line and "`" in line]
    assert loose.shop(*shlex.split(allow.split("`")[1])[1:], "--yes", cwd=root).code == 0
    said = loose.shop.rspec("run", "app/payment.rb", "process", "--resume", cwd=root)
    assert said.code in (0, 2), said.err
    assert Path(said.out.strip()).read_text().startswith("# RSpec review: spec/payment_spec.rb")
    assert "expect(result)" in (root / "spec/payment_spec.rb").read_text()
    assert sorted(os.listdir(root)) == ["app", "spec", "tmp"]


@pytest.mark.proves("S1-ROOT-04", "S1-TEST-01")
def test_sources_of_two_loose_projects_with_the_same_relative_path_are_not_confused(loose: Loose) -> None:
    loose.shop.rspec("analyzer", "app/payment.rb", "process", cwd=loose.one)
    said = loose.shop.rspec("status", "app/payment.rb", cwd=loose.other)
    assert said.err.startswith("Error: No pipeline has run for app/payment.rb.")
    loose.shop.rspec("analyzer", "app/payment.rb", "refund", cwd=loose.other)
    for root, name in ((loose.one, "process"), (loose.other, "refund")):
        assert loose.shop.rspec("skeleton", "app/payment.rb", cwd=root).out == f"{root}/spec/payment_spec.rb\n"
        said = loose.shop.rspec("status", "spec/payment_spec.rb", cwd=root)
        assert f"Payment#{name}" in said.out, said


@pytest.mark.proves("S1-ROOT-04")
@pytest.mark.parametrize("kind", ["a link", "a file", "writable for all"])
def test_a_shared_folder_that_is_not_safe_is_refused_with_the_setting(loose: Loose, kind: str) -> None:
    place, bait = loose.system / "rspec_claude_metadata", loose.system / "bait"
    bait.mkdir()
    if kind == "a link":
        place.symlink_to(bait)
    elif kind == "a file":
        place.write_text("mine")
    else:
        place.mkdir()
        place.chmod(0o777)
    said = loose.shop.rspec("analyzer", "app/payment.rb", "process", cwd=loose.one)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"Error: The folder {place} cannot be used: ")
    assert f"Set pack.rspec-v1.fallback in {loose.private}/moot.toml to another folder." in said.err
    assert os.listdir(bait) == []


@pytest.mark.proves("S1-ROOT-02")
def test_commands_that_are_suggested_in_a_parent_folder_name_the_project(shop: Shop) -> None:
    shop.agents()
    assert shop("allow", "rspec-v1.architect", "--revoke").code == 0
    said = shop.rspec("run", f"shop/{SOURCE}", "process", cwd=shop.root.parent)
    assert said.code == 1
    assert f"`moot -C {shop.root} allow rspec-v1.architect`" in said.err


@pytest.mark.proves("S1-HARD-15")
def test_a_linked_worktree_is_a_project_of_its_own(staffed: Shop) -> None:
    def git(*words: str) -> None:
        about = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(staffed.root), *about, *words], check=True, timeout=30, capture_output=True)

    git("add", "-A")
    git("commit", "-qm", "one")
    linked = staffed.root.parent / "linked"
    git("worktree", "add", "-q", str(linked))
    (linked / "tmp").mkdir()
    said = staffed.rspec("analyzer", SOURCE, "process", cwd=linked)
    assert said.out == f"{linked}/{METADATA}\n", said.err
    assert not (staffed.root / METADATA).exists()


@pytest.mark.proves("S1-HARD-06")
def test_two_sources_with_one_plain_name_never_share_a_document(staffed: Shop) -> None:
    for path, name in (("app/foo_bar.rb", "FooBar"), ("app/foo/bar.rb", "Foo::Bar")):
        staffed.write(path, f"class {name}\n  def go(a)\n    a ? 1 : 2\n  end\nend\n")
    first = staffed.rspec("analyzer", "app/foo_bar.rb", "go")
    second = staffed.rspec("analyzer", "app/foo/bar.rb", "go")
    assert first.out.endswith("/metadata_app_foo_bar.yml\n"), first.err
    assert second.out.rpartition("/")[2].startswith("metadata_app_foo_bar_"), second.err
    again = staffed.rspec("analyzer", "app/foo_bar.rb", "go")
    assert again.out == first.out
    assert "Using cached metadata" in again.err


@pytest.mark.proves("S1-SKEL-06")
def test_the_helper_is_required_unless_rspec_does_so_anyway(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    staffed.rspec("skeleton", SOURCE)
    assert 'require "spec_helper"\n' in staffed.read(SPEC)
    (staffed.root / SPEC).unlink()
    staffed.write(".rspec", "--require spec_helper\n")
    staffed.rspec("skeleton", SOURCE)
    assert "require" not in staffed.read(SPEC)
