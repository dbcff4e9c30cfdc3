"""Where documents, specs and reports are."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.core.errors import Refused, Usage
from moot.packs.rspec_v1 import places


def repository(at: Path, *, tmp: bool = True) -> Path:
    (at / ".git").mkdir(parents=True)
    if tmp:
        (at / "tmp").mkdir()
    return at


def document(source: str, cwd: Path, **options: object) -> str:
    project = places.project_of(source, str(cwd))
    folder = places.folder_of(project, **options)  # type: ignore[arg-type]
    return f"{folder}/{places.document_name(places.stem_of(project.named))}"


@pytest.mark.proves("S1-META-01")
def test_the_document_of_a_source_is_in_the_tmp_of_its_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop")
    expected = root / "tmp/rspec_claude_metadata/metadata_app_services_payment_service.yml"
    assert document("app/services/payment_service.rb", root) == str(expected)


@pytest.mark.proves("S1-META-02")
def test_without_tmp_the_document_is_in_a_system_folder_named_after_the_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop", tmp=False)
    found = document("app/models/user.rb", root)
    assert found == "/tmp/shop_rspec_claude_metadata/metadata_app_models_user.yml"


@pytest.mark.proves("S1-META-03")
def test_every_spelling_of_a_source_gives_the_same_name(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop")
    (root / "app").mkdir()
    spellings = ["app/services/a.rb", "./app/services/a.rb", f"{root}/app/services/a.rb", "app/../app/services/a.rb"]
    assert {document(one, root) for one in spellings} == {
        f"{root}/tmp/rspec_claude_metadata/metadata_app_services_a.yml"
    }
    assert document("services/a.rb", root / "app").endswith("metadata_app_services_a.yml")


@pytest.mark.proves("S1-META-03")
@pytest.mark.parametrize("source", ["app/user.py", "app/user", "app/user.rb.bak", "app/user.RB"])
def test_a_source_that_is_not_ruby_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(Usage, match="Not a Ruby source file") as refused:
        places.project_of(source, str(repository(tmp_path / "shop")))
    assert refused.value.remedy


@pytest.mark.proves("S1-SPEC-01")
@pytest.mark.parametrize(
    ("source", "spec"),
    [
        ("app/models/user.rb", "spec/models/user_spec.rb"),
        ("app/services/payment.rb", "spec/services/payment_spec.rb"),
        ("app/controllers/orders_controller.rb", "spec/controllers/orders_controller_spec.rb"),
        ("lib/a/b.rb", "spec/lib/a/b_spec.rb"),
        ("app/lib/x.rb", "spec/lib/x_spec.rb"),
        ("x.rb", "spec/x_spec.rb"),
    ],
)
def test_a_spec_is_at_the_standard_place(source: str, spec: str) -> None:
    assert places.spec_of(source) == spec


@pytest.mark.proves("S1-REP-01")
def test_the_report_has_the_stem_of_the_document_so_equal_base_names_never_share_one() -> None:
    stems = [places.stem_of(one) for one in ("app/models/user.rb", "app/services/user.rb")]
    assert [places.report_name(stem) for stem in stems] == [
        "review_report_app_models_user.md",
        "review_report_app_services_user.md",
    ]


@pytest.mark.proves("S1-ROOT-01", "S1-ROOT-02")
def test_the_root_is_found_from_the_source_and_never_from_the_working_directory(tmp_path: Path) -> None:
    one, two = repository(tmp_path / "project1"), repository(tmp_path / "project2")
    project = places.project_of("project1/app/models/user.rb", str(tmp_path))
    assert (project.root, project.source) == (str(one), "app/models/user.rb")
    assert places.project_of(f"{one}/app/models/user.rb", str(two)).root == str(one)
    assert places.find_root("/no/such/folder/at/all.rb") is None


@pytest.mark.proves("S1-HARD-15")
def test_a_git_file_marks_a_root_like_a_directory(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    inner = outer / "vendor/engine"
    inner.mkdir(parents=True)
    (inner / ".git").write_text("gitdir: ../../.git/modules/engine\n")
    assert places.project_of("vendor/engine/app/a.rb", str(outer)).root == str(inner)


@pytest.mark.proves("S1-ROOT-04")
def test_outside_a_repository_the_name_is_made_from_the_absolute_path(tmp_path: Path) -> None:
    assert places.find_root(str(tmp_path / "x.rb")) is None, "the temporary directory is in no repository"
    (tmp_path / "app/models").mkdir(parents=True)
    found = document("app/models/user.rb", tmp_path)
    stem = str(tmp_path).strip("/").replace("/", "_")
    assert found == f"/tmp/rspec_claude_metadata/metadata_{stem}_app_models_user.yml"
    project = places.project_of("app/models/user.rb", str(tmp_path))
    assert (project.root, project.source) == (str(tmp_path), "app/models/user.rb")
    assert places.project_of("user.rb", str(tmp_path)).source == "user.rb"


@pytest.mark.proves("S1-HARD-06")
def test_two_sources_with_one_plain_name_get_two_distinct_names() -> None:
    first, second = "app/foo_bar.rb", "app/foo/bar.rb"
    assert places.stem_of(first) == places.stem_of(second) == "app_foo_bar"
    distinct = {places.stem_of(one, distinct=True) for one in (first, second)}
    assert len(distinct) == 2
    assert all(one.startswith("app_foo_bar_") and len(one) == len("app_foo_bar_") + 8 for one in distinct)


@pytest.mark.proves("S1-HARD-15")
def test_two_roots_of_one_base_name_have_two_distinct_fallback_folders(tmp_path: Path) -> None:
    roots = [repository(tmp_path / name / "shop", tmp=False) for name in ("a", "b")]
    projects = [places.project_of("x.rb", str(root)) for root in roots]
    assert len({places.folder_of(one) for one in projects}) == 1
    assert len({places.folder_of(one, distinct=True) for one in projects}) == 2


def test_a_source_that_is_a_link_out_of_its_repository_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop")
    (tmp_path / "secret.rb").write_text("class Secret; end\n")
    (root / "secret.rb").symlink_to(tmp_path / "secret.rb")
    with pytest.raises(Refused, match="leads out of its repository") as refused:
        places.project_of("secret.rb", str(root))
    assert refused.value.code == "source_outside"


def test_a_tmp_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop", tmp=False)
    (tmp_path / "elsewhere").mkdir()
    (root / "tmp").symlink_to(tmp_path / "elsewhere")
    assert not places.project_of("a.rb", str(root)).temporary


@pytest.mark.proves("S1-META-03", "S1-HARD-06")
def test_a_name_that_no_file_could_have_is_cut_and_gets_a_digest() -> None:
    deep = "/".join(["d" * 60] * 5)
    one, other = (places.stem_of(f"app/{first}/{deep}/payment.rb") for first in ("a", "b"))
    assert one != other
    for name in (places.document_name(one), places.report_name(one), places.document_name(other)):
        assert len(name) < 230
        assert "_payment_" in name
    assert len(places.document_name(places.stem_of(f"app/{'ü' * 300}.rb")).encode()) < 230
