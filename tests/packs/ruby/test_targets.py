"""Which method a name means, and the errors for names that mean none or several."""

from __future__ import annotations

import pytest

from moot.core.errors import MootError
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse
from moot.packs.ruby.targets import find_method

TWO = """
class A; def x; end; def self.x; end; end
class B; def x; end; def y; end; end
class N::B; def z; end; end
E.class_eval { def v; end }
"""


def find(text: str, method: str, class_name: str | None = None):
    source = parse(text.encode())
    return find_method(source, declarations(source), method, class_name)


@pytest.mark.parametrize(
    ("method", "class_name", "found"),
    [
        ("y", None, "B#y"),
        ("#x", "A", "A#x"),
        (".x", "A", "A.x"),
        (".x", None, "A.x"),
        ("x", "B", "B#x"),
        ("z", "N::B", "N::B#z"),
        ("z", "::N::B", "N::B#z"),
        ("v", "E", "E#v"),
    ],
)
def test_the_method_that_a_name_means(method, class_name, found):
    assert find(TWO, method, class_name).id == found


REFUSED = [
    (TWO, "w", None, "ruby_method_not_found", "A#x, A.x, B#x, B#y, N::B#z, E#v"),
    (TWO, "x", None, "ruby_class_ambiguous", "A, B"),
    (TWO, "x", "A", "ruby_method_ambiguous", "both an instance method and a class method x"),
    (TWO, "x", "C", "ruby_class_not_found", "A, B, E, N::B"),
    ("class A::B; def x; end; end; class C::B; end", "x", "B", "ruby_class_ambiguous", "A::B, C::B"),
    ("class A; def x; end\ndef x; end; end", "x", None, "ruby_method_defined_twice", "lines 1, 2"),
    ("class A; attr_reader :x; end", "x", None, "ruby_method_without_body", "line 1"),
    ("class A; define_method(n) { 1 }; end", "x", None, "ruby_method_not_found", "Line 1: `define_method(n) { 1 }`"),
    ("", "x", None, "ruby_method_not_found", "no methods"),
    ("def x; end", "x", None, "ruby_method_outside_class", "line 1"),
    ("def y; end; class A; def z; end; end", "x", None, "ruby_method_not_found", "Methods found: A#z."),
    ("x = 1", "x", None, "ruby_method_not_found", "no methods"),
    (TWO, "#", None, "ruby_method_missing", "name of a method"),
    (
        "class A\n  def x\n    if (\n  end\n\n  def y\n    1\n  end\nend\n",
        "x",
        None,
        "ruby_method_does_not_parse",
        "line 2",
    ),
    ("class A\n  def x\n    foo(\n  end\nend\n", "x", None, "ruby_method_does_not_parse", "line"),
]


@pytest.mark.proves("S1-AN-03")
@pytest.mark.parametrize(("text", "method", "class_name", "code", "says"), REFUSED)
def test_a_name_that_means_no_single_method_is_refused(text, method, class_name, code, says):
    with pytest.raises(MootError) as refused:
        find(text, method, class_name)
    assert refused.value.code == code
    assert says in refused.value.message
    assert refused.value.remedy


@pytest.mark.proves("S1-AN-03")
@pytest.mark.parametrize(
    "text",
    [
        "class A\n  def bad\n    if (\n  end\n\n  def good\n    1\n  end\nend\n",
        "class A\n  def good\n    1\n  end\n\n  def bad\n    foo(\n  end\nend\n",
        "class A\n  x = [1, 2\n\n  def good\n    1\n  end\nend\n",
        "class A\n  def good\n    1\n  end\n\n  def bad\n    if x\n  end\nend\n",
        "class A\n  def good\n    1\n  end\n  )))\nend\n",
        "class A\n  def good\n    1\n  end\n",
        "class A\n  def good\n    1\n  end\nend\nend\nend\n",
    ],
)
def test_syntax_errors_outside_the_method_are_tolerated(text):
    method = find(text, "good")
    assert (method.id, method.last_line - method.first_line) == ("A#good", 2)
