"""Unusual and hostile files: each has a tree or a clear error, and never ends the process."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from moot.core.errors import Refused, Unavailable
from moot.packs.ruby import syntax
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse

PLAIN = b"class A\n  def x\n    <<~TEXT\n      hello\n    TEXT\n  end\nend\n"


def methods(data: bytes) -> list[tuple[str, int, int]]:
    return [(one.id, one.first_line, one.last_line) for one in declarations(parse(data)).methods]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain", PLAIN),
        ("CRLF", PLAIN.replace(b"\n", b"\r\n")),
        ("a byte order mark", b"\xef\xbb\xbf" + PLAIN),
        ("both", b"\xef\xbb\xbf" + PLAIN.replace(b"\n", b"\r\n")),
        ("text after __END__", PLAIN + b"__END__\nclass B\n  def y"),
        ("Latin-1 in a comment", PLAIN.replace(b"hello", b"h\xe4llo # \xff")),
        ("no line break at the end", PLAIN.rstrip()),
    ],
)
def test_forms_of_the_same_file_have_the_same_methods(name, data):
    source = parse(data)
    assert methods(data) == [("A#x", 2, 6)]
    assert not source.problems
    (method,) = declarations(source).methods
    assert data[method.start : method.end].startswith(b"def x")
    assert data[method.start : method.end].endswith(b"end")


@pytest.mark.parametrize("data", [b"", b"\n", b"   ", b"# only a comment", b"\xef\xbb\xbf", b"__END__"])
def test_a_file_without_code_declares_nothing(data):
    assert methods(data) == []
    assert not parse(data).problems


def test_a_binary_file_is_refused_with_the_place():
    with pytest.raises(Refused, match="NUL byte at offset 3") as refused:
        parse(b"abc\0def")
    assert refused.value.code == "ruby_binary"


def test_a_file_over_the_limit_is_refused_before_it_is_parsed():
    with pytest.raises(Refused, match="8,388,609") as refused:
        parse(b"#" * (syntax.LARGEST + 1))
    assert refused.value.code == "ruby_too_large"


def test_a_file_of_two_megabytes_is_parsed():
    one = b"  def method_%07d(a)\n    a if a\n  end\n\n"
    count = 2_000_000 // len(one % 0)
    data = b"class A\n" + b"".join(one % number for number in range(count)) + b"end\n"
    found = declarations(parse(data)).methods
    assert len(found) == count
    assert found[-1].last_line == 1 + 4 * count - 1


@pytest.mark.parametrize(
    "unit", [b"[", b"((((a", b"if x\n", b"class A\n", b"def x\n", b'"#{', b"a + ", b"-> {", b"x do\n"]
)
def test_nesting_deeper_than_the_stack_of_python_is_no_crash(unit):
    declarations(parse(unit * 20_000))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("class A\n  def x\n    foo(\n  end\nend\n", 1),
        ("x = 1\ny = )\n", 2),
        ("a\nb\nc = [1,\n", 3),
    ],
)
def test_syntax_errors_have_a_line_and_a_message(text, line):
    problems = parse(text.encode()).problems
    assert problems
    assert problems[0].line >= line
    assert problems[0].message


@pytest.mark.parametrize("unit", [b"%w(", b"case x\n"])
def test_input_that_takes_quadratic_time_is_given_up(unit, monkeypatch):
    monkeypatch.setattr(syntax, "SECONDS", 0.3)
    with pytest.raises(Refused, match=r"within 0\.3 s") as refused:
        parse(unit * 40_000)
    assert refused.value.code == "ruby_too_complex"


def test_threads_can_parse_at_the_same_time():
    large = b"class A\n" + b"  def x\n    y if z\n  end\n" * 4000 + b"end\n"
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: len(declarations(parse(large)).methods), range(12)))
    assert found == [4000] * 12


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    with pytest.raises(Unavailable) as refused:
        parse(b"x")
    assert "tree-sitter-ruby" in refused.value.remedy
