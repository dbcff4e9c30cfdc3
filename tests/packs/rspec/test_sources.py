"""Paths of sources, slugs and specs; zones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moot.core.errors import MootError
from moot.packs.rspec import slugs, sources, zones


@pytest.mark.proves("S2-META-02")
@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("app/services/payment.rb", "app_services_payment"),
        ("payment.rb", "payment"),
        ("lib/a.b/c.d.rb", "lib_a.b_c.d"),
        ("app/models/über maß.rb", "app_models_über maß"),
    ],
)
def test_the_slug_is_the_path_with_underscores_and_without_extension(path: str, slug: str) -> None:
    assert slugs.slug_of(path) == slug


@pytest.mark.parametrize(
    ("path", "spec"),
    [
        ("app/models/payment.rb", "spec/models/payment_spec.rb"),
        ("lib/a.rb", "spec/lib/a_spec.rb"),
        ("app.rb", "spec/app_spec.rb"),
    ],
)
def test_the_spec_lies_below_spec_without_app(path: str, spec: str) -> None:
    assert sources.spec_path(path) == spec


@pytest.mark.proves("S2-DISC-02")
@pytest.mark.parametrize(
    ("path", "testable"),
    [
        ("app/models/payment.rb", True),
        ("lib/tasks/x.rb", True),
        ("app/config/x.rb", True),
        ("binary.rb", True),
        ("app/models/payment_spec.rb", False),
        ("db/migrate/001_x.rb", False),
        ("db/seeds.rb", True),
        ("config/routes.rb", False),
        ("bin/rails.rb", False),
        ("script/x.rb", False),
        ("vendor/gems/x.rb", False),
        ("Gemfile", False),
        ("lib/x.rake", False),
    ],
)
def test_only_ruby_code_outside_of_specs_migrations_and_configuration_is_testable(path: str, testable: bool) -> None:
    assert sources.is_testable(path) is testable


@pytest.mark.proves("S2-DISC-05")
@pytest.mark.parametrize(
    ("loc", "methods", "zone"),
    [
        (0, 0, "green"),
        (149, 6, "green"),
        (150, 6, "yellow"),
        (149, 7, "yellow"),
        (300, 12, "yellow"),
        (301, 1, "red"),
        (1, 13, "red"),
        (180, 8, "yellow"),
        (85, 4, "green"),
    ],
)
def test_the_worse_of_lines_and_methods_decides_the_zone(loc: int, methods: int, zone: str) -> None:
    assert zones.zone(loc, methods) == zone


@pytest.mark.proves("S2-DISC-05")
def test_blank_lines_and_comments_are_not_lines_of_code() -> None:
    source = (
        b"\xef\xbb\xbf# frozen\r\n\r\nclass A # note\r\n=begin\r\ntext\r\n=end\r\n  x = 1\r\nend\r\n__END__\ndata\n"
    )
    assert zones.lines_of_code(source) == 3


def test_a_source_is_read_only_inside_the_root_and_only_as_text(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.rb"
    (root / "app").mkdir(parents=True)
    outside.write_text("secret")
    (root / "app/ok.rb").write_bytes(b"class A; end\n")
    (root / "link.rb").symlink_to(outside)
    (root / "inner.rb").symlink_to("app/ok.rb")
    (root / "bin.rb").write_bytes(b"a\0b")
    (root / "big.rb").write_bytes(b"#" * (2 << 20))
    (root / "dir.rb").mkdir()
    os.mkfifo(root / "pipe.rb")
    assert sources.read_source(str(root), "app/ok.rb") == b"class A; end\n"
    assert sources.read_source(str(root), "inner.rb") == b"class A; end\n"
    for path, code, word in (
        ("link.rb", "source_outside", "leads out"),
        ("../outside.rb", "source_outside", "leads out"),
        ("bin.rb", "source_unreadable", "binary"),
        ("big.rb", "source_too_large", "2,097,152 bytes, and at most 1,048,576 are read"),
        ("dir.rb", "source_unreadable", "regular file"),
        ("pipe.rb", "source_unreadable", "regular file"),
        ("none.rb", "source_missing", "none.rb"),
        ("app/ok.rb/none.rb", "source_missing", "none.rb"),
    ):
        with pytest.raises(MootError, match=word) as caught:
            sources.read_source(str(root), path)
        assert caught.value.code == code
        assert caught.value.remedy


def test_a_path_is_taken_relative_to_the_root_from_wherever_the_caller_is(tmp_path: Path) -> None:
    (tmp_path / "app/models").mkdir(parents=True)
    (tmp_path / "app/models/a.rb").touch()
    for cwd, given in ((".", "app/models/a.rb"), ("app/models", "a.rb"), ("app", str(tmp_path / "app/models/a.rb"))):
        assert sources.relative_path(str(tmp_path), str(tmp_path / cwd), given) == "app/models/a.rb"
    for given in ("../x.rb", "/etc/passwd", "a\0.rb", "."):
        with pytest.raises(MootError) as caught:
            sources.relative_path(str(tmp_path), str(tmp_path), given)
        assert caught.value.code == "source_outside"
    with pytest.raises(MootError, match="not UTF-8"):
        sources.relative_path(str(tmp_path), str(tmp_path), "caf\udce9.rb")
