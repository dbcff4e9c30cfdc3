"""Where the files of a pipeline go: several repositories, worktrees, no `tmp`, no repository, equal names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.specs.rspec_v1.shop import METADATA, PAYMENT, SOURCE, SPEC, Shop


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


@pytest.mark.proves("S1-ROOT-04")
def test_a_source_outside_any_repository_works_in_the_private_workspace(shop: Shop, folder: Path) -> None:
    loose = folder / "loose"
    (loose / "app").mkdir(parents=True)
    (loose / "app/payment.rb").write_text(PAYMENT)
    private = folder / "home/state/moot/private"
    private.mkdir(parents=True, mode=0o700)
    system = folder / "system"
    system.mkdir()
    (private / "moot.toml").write_text(f'packs = ["rspec-v1"]\n[pack.rspec-v1]\nfallback = "{system}"\n')
    said = shop.rspec("analyzer", "app/payment.rb", "process", cwd=loose)
    stem = str(loose / "app/payment").strip("/").replace("/", "_")
    assert said.out == f"{system}/rspec_claude_metadata/metadata_{stem}.yml\n", said.err
    assert sorted(os.listdir(loose)) == ["app"]


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


@pytest.mark.proves("S1-HARD-07")
def test_a_spec_file_of_another_source_is_not_touched(staffed: Shop) -> None:
    staffed.write("lib/x.rb", "class LibX\n  def go; end\nend\n")
    staffed.write("app/lib/x.rb", "class AppX\n  def go; end\nend\n")
    staffed.rspec("analyzer", "lib/x.rb", "go")
    assert staffed.rspec("skeleton", "lib/x.rb").code in (0, 2)
    text = staffed.read("spec/lib/x_spec.rb")
    staffed.rspec("analyzer", "app/lib/x.rb", "go")
    said = staffed.rspec("skeleton", "app/lib/x.rb")
    assert said.code == 1
    assert "it belongs to lib/x.rb" in said.err
    assert staffed.read("spec/lib/x_spec.rb") == text


@pytest.mark.proves("S1-SKEL-06")
def test_the_helper_is_required_unless_rspec_does_so_anyway(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    staffed.rspec("skeleton", SOURCE)
    assert "require 'spec_helper'\n" in staffed.read(SPEC)
    (staffed.root / SPEC).unlink()
    staffed.write(".rspec", "--require spec_helper\n")
    staffed.rspec("skeleton", SOURCE)
    assert "require" not in staffed.read(SPEC)
