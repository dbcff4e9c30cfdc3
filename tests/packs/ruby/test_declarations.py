"""Classes, methods and visibility of Ruby files, compared with what Ruby itself says after loading them."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse

needs_ruby = pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")


def declared(text: str) -> dict[str, str]:
    return {one.id: one.visibility for one in declarations(parse(text.encode())).declared}


# What Ruby reports for the class or module T after loading the text.
REFLECTED = {
    "a private section": "class T; def a; end; private; def b; end; def c; end; end",
    "a section ended by public": "class T; private; def a; end; public; def b; end; end",
    "protected": "class T; protected; def a; end; end",
    "private with symbols": "class T; def a; end; def b; end; def c; end; private :a, :b; end",
    "private with strings": "class T; def a; end; private 'a'; end",
    "private with an array": "class T; def a; end; def b; end; private [:a, :b]; end",
    "private with a word array": "class T; def a; end; def b; end; private %i[a b]; end",
    "private with a splatted array": "class T; def a; end; def b; end; private(*%i[a b]); end",
    "private before def": "class T; private def a; end; def b; end; end",
    "public before def in a private section": "class T; private; public def a; end; def b; end; end",
    "private before an endless def": "class T; private def a = 1; def b = 2; end",
    "private before attr_reader": "class T; private attr_reader :a, :b; attr_accessor :c; end",
    "a private section with attributes": "class T; private; attr_reader :a; attr_writer :b; end",
    "private_class_method": "class T; def self.a; end; def self.b; end; private_class_method :a; end",
    "private_class_method before def": "class T; private_class_method def self.a; end; end",
    "public_class_method": "class T; def self.a; end; private_class_method :a; public_class_method :a; end",
    "a private section and def self": "class T; private; def self.a; end; def b; end; end",
    "class << self": "class T; class << self; def a; end; private; def b; end; end; def c; end; end",
    "private in class << self with symbols": "class T; class << self; def a; end; private :a; end; end",
    "private before class << self": "class T; private; class << self; def a; end; end; def b; end; end",
    "attributes of the class": "class T; class << self; attr_reader :a; private; attr_reader :b; end; end",
    "a reopened class is public again": "class T; private; def a; end; end; class T; def b; end; end",
    "private of a method from another body": "class T; def a; end; end; class T; private :a; end",
    "private inside a block": "class T; 1.times { private }; def a; end; end",
    "private inside an if": "class T; if true; private; end; def a; end; end",
    "private with a condition": "class T; def a; end; private :a if true; end",
    "a definition inside an if": "class T; private; if true; def a; end; end; end",
    "initialize is private": "class T; def initialize; end; def respond_to_missing?(*) = true; end",
    "define_method": "class T; define_method(:a) { 1 }; define_method('b') do |x| x end; end",
    "define_method in a private section": "class T; private; define_method(:a) { 1 }; end",
    "private before define_method": "class T; private define_method(:a) { 1 }; end",
    "an alias keeps the visibility of the original": "class T; private def a; end; alias b a; alias_method :c, :a; end",
    "def with the class's name": "class T; def T.a; end; end",
    "operators and setters": "class T; def +(x); end; def []=(x, y); end; def a=(x); end; def !; end; def -@; end; end",
    "a method named like a keyword": "class T; def class; end; def if; end; def self.end; end; end",
    "a nested class has its own sections": "class T; private; class U; def a; end; end; def b; end; end",
    "Class.new with a block": "T = Class.new do; def a; end; private; def b; end; end",
    "Struct.new with a block": "T = Struct.new(:x) do; def a; end; private def b; end; end",
    "class_eval": "class T; end; T.class_eval do; def a; end; private; def b; end; end",
    "private is not a local name": "class T; def a; private = 1; private; end; def b; end; end",
    "a string that says private": "class T; X = 'private'; def a; end; end",
    "a comment that says private": "class T\n  # private\n  def a; end\nend",
    "a heredoc with definitions": "class T\n  X = <<~A\n    private\n    def b; end\n  A\n  def a; end\nend",
    "after __END__": "class T; def a; end; end\n__END__\nclass T; def b; end; end",
}

REPORT = r"""
require "json"
names = ->(one) { one.sort.map(&:to_s) }
report = JSON.parse($stdin.read).transform_values do |text|
  Object.send(:remove_const, :T) if Object.const_defined?(:T)
  eval(text.sub(/^__END__.*/m, ""), TOPLEVEL_BINDING.dup)
  single = T.singleton_class
  seen = {}
  %w[public protected private].each do |visibility|
    T.send("#{visibility}_instance_methods", false).each { |name| seen["T##{name}"] = visibility }
    (single.send("#{visibility}_instance_methods", false) - Class.instance_methods - Class.private_instance_methods)
      .each { |name| seen["T.#{name}"] = visibility }
  end
  seen
end
puts JSON.generate(report)
"""


@pytest.fixture(scope="module")
def reflected():
    asked = json.dumps(REFLECTED)
    run = subprocess.run(
        ["ruby", "-W0", "-e", REPORT], input=asked, capture_output=True, text=True, timeout=60, check=True
    )
    return json.loads(run.stdout)


@pytest.mark.proves("S2-DISC-04")
@needs_ruby
@pytest.mark.parametrize("case", REFLECTED)
def test_visibility_is_the_one_that_ruby_reports(case, reflected):
    ours = {name: seen for name, seen in declared(REFLECTED[case]).items() if not name.startswith("T::")}
    theirs = {name: seen for name, seen in reflected[case].items() if name in ours or "Struct" not in REFLECTED[case]}
    assert ours == {name: seen for name, seen in theirs.items() if name not in {"T.[]", "T.members"}}
    assert ours


@needs_ruby
def test_module_function_makes_public_class_methods():
    text = "module T; def a; end; module_function; def b; end; def c; end; end; module T; module_function :a; end"
    assert declared(text) == {"T.a": "public", "T.b": "public", "T.c": "public"}


NAMES = [
    ("module A; module B; class C; def x; end; end; end; end", ["A::B::C#x"]),
    ("class A::B::C; def x; end; end", ["A::B::C#x"]),
    ("module A; class B::C; def x; end; def self.y; end; end; end", ["A::B::C#x", "A::B::C.y"]),
    ("module A; class ::B; def x; end; end; end", ["B#x"]),
    ("module A; class B; class << self; def x; end; end; end; end", ["A::B.x"]),
    ("module A; class B; def B.x; end; end; end", ["A::B.x"]),
    ("module A; C = Struct.new(:a) do; def x; end; end; end", ["A::C#x"]),
    ("class A; class B < C; def x; end; end; def y; end; end", ["A::B#x", "A#y"]),
    ("module A; class_methods do; def x; end; private; def y; end; end; def z; end; end", ["A.x", "A.y", "A#z"]),
    ("def x; end", ["#x"]),
    ("o = Object.new; def o.x; end", ["o.x"]),
]


@pytest.mark.parametrize(("text", "ids"), NAMES)
def test_methods_have_the_full_namespace_of_their_class(text, ids):
    assert [one.id for one in declarations(parse(text.encode())).methods] == ids


def test_classes_have_kind_superclass_and_lines():
    text = b"module A\n  class B < C::D\n    def x; end\n  end\n  E = Class.new(F) do\n  end\nend\n"
    found = [
        (one.name, one.kind, one.superclass, one.first_line, one.last_line) for one in declarations(parse(text)).classes
    ]
    assert found == [("A", "module", None, 1, 7), ("A::B", "class", "C::D", 2, 4), ("A::E", "class", "F", 5, 6)]


def test_byte_and_line_ranges_cut_out_exactly_the_definition():
    text = "# é\nclass A\n\n  # About x.\n  def x(a)\n    'ü'\n  end\n\n  private def y = 1\nend\n".encode()
    x, y = declarations(parse(text)).methods
    assert text[x.start : x.end].decode() == "def x(a)\n    'ü'\n  end"
    assert (x.first_line, x.last_line) == (5, 7)
    assert text[y.start : y.end] == b"def y = 1"
    assert (y.first_line, y.last_line) == (9, 9)


def test_parameters_have_kind_and_default():
    text = b"class A; def x(a, (b, c), d = 1, *e, f:, g: 2, **h, &i); end; def y(...); end; def z a, b; end; end"
    x, y, z = declarations(parse(text)).methods
    assert [(one.name, one.kind, one.default) for one in x.parameters] == [
        ("a", "required", None),
        ("(b, c)", "required", None),
        ("d", "optional", "1"),
        ("e", "rest", None),
        ("f", "keyword", None),
        ("g", "optional_keyword", "2"),
        ("h", "keyword_rest", None),
        ("i", "block", None),
    ]
    assert [one.kind for one in y.parameters] == ["forward"]
    assert [one.name for one in z.parameters] == ["a", "b"]


def test_computed_names_are_reported_with_their_line():
    text = (
        b'class A\n  def x; end\n  private(*NAMES)\n  define_method("a_#{b}") { 1 }\n  define_method(name) { 2 }\nend\n'
    )
    found = declarations(parse(text))
    assert [one.id for one in found.methods] == ["A#x"]
    assert [(one.line, one.message) for one in found.unclear] == [
        (3, "`private(*NAMES)`: the names are computed"),
        (4, '`define_method("a_#{b}") { 1 }`: the name is computed'),
        (5, "`define_method(name) { 2 }`: the name is computed"),
    ]


def test_a_method_inside_a_method_is_marked():
    found = declarations(parse(b"class A; def x; def y; end; end; end")).methods
    assert [(one.id, one.nested) for one in found] == [("A#x", False), ("A#y", True)]
