"""Text as Ruby literals and back: Ruby itself reads what is written, and moot reads what Ruby means."""

from __future__ import annotations

import json
import random
import shutil
import subprocess

import pytest

from moot.packs.ruby.literals import quoted, symbol
from moot.packs.ruby.syntax import literal_text, parse, walk

needs_ruby = pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
PIECES = [
    *(
        "a",
        "Z",
        "9",
        " ",
        "'",
        '"',
        "\\",
        "#",
        "{",
        "}",
        "$",
        "@",
        "#{1}",
        "#$0",
        "#@a",
        "\n",
        "\r",
        "\t",
        "\0",
        "\x1b",
    ),
    *(
        "\x7f",
        "\u0085",
        "\u2028",
        "é",
        "日",
        "😀",
        "%",
        "`",
        "?",
        "!",
        "=",
        ":",
        "\\n",
        "\\u0041",
        "end",
        "__END__",
        "\\#",
    ),
]
EVALUATE = """
require "json"
def read(text)
  eval(text).to_s.encode("UTF-8")
rescue SyntaxError, StandardError => e
  "#{e.class}: #{text}"
end
puts JSON.generate(JSON.parse($stdin.read).map { |text| read(text) })
"""


def evaluated(literals: list[str]) -> list[str]:
    run = subprocess.run(
        ["ruby", "-W0", "-e", EVALUATE],
        input=json.dumps(literals),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        encoding="utf-8",
    )
    return json.loads(run.stdout)


def texts() -> list[str]:
    chance = random.Random(20)
    made = ["".join(chance.choices(PIECES, k=chance.randint(0, 8))) for _ in range(1500)]
    return [*PIECES, "", *made]


def read(literal: str) -> str | None:
    source = parse(f"x({literal})\n".encode())
    assert not source.problems, literal
    arguments = next(node for node in walk(source.root) if node.type == "argument_list")
    return literal_text(arguments.named_children[0])


@needs_ruby
def test_ruby_reads_back_exactly_the_text_of_a_string():
    assert evaluated([quoted(one) for one in texts()]) == texts()


@needs_ruby
def test_ruby_reads_back_exactly_the_text_of_a_symbol():
    named = [
        "a",
        "a?",
        "a!",
        "a=",
        "a!?",
        "a?!",
        "?",
        "!",
        "A",
        "Abc",
        "1a",
        "a b",
        "é",
        "end",
        "nil",
        "@a",
        "$a",
        "[]",
    ]
    assert evaluated([symbol(one) for one in [*named, *texts()]]) == [*named, *texts()]


def test_a_written_string_is_read_back():
    for one in texts():
        assert read(quoted(one)) == one


FORMS = [
    *("''", '""', "'a'", r"'a\'b'", r"'a\\b'", r"'a\nb'", r"'a\\\'b'", r'"a\nb"', r'"a\\nb"', r'"\u00e9\u{1f600 41}"'),
    *(r'"\x41\101\e\s\a\b\f\v\0"', r'"\#{a}"', '"a" "b"', "'a' 'b'", "%q(a(b)c)", r"%q(a\)b)", '%(a "b")', "%Q[a]"),
    *(
        ":a",
        ":a?",
        ":'a b'",
        ':"a b"',
        r':"a\nb"',
        "%s(a b)",
        r'"a\
b"',
        r'"\q\-"',
        r"%q{a\}b}",
        r"'a\z'",
    ),
]


@needs_ruby
def test_a_literal_has_the_value_that_ruby_gives_it():
    assert [read(form) for form in FORMS] == evaluated(FORMS)


@pytest.mark.parametrize("form", ['"#{a}"', '"a#{b}c"', "a", ':"a#{b}"', '"a" "#{b}"', "1", "nil", "[:a]"])
def test_what_is_computed_has_no_value(form):
    assert read(form) is None
