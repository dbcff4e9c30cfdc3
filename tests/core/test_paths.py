"""Paths and patterns: what is canonical, what matches, and whether two patterns share a path."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.core import paths
from moot.core.errors import Refused
from moot.core.paths import (
    canonical,
    canonical_pattern,
    compiled,
    escape,
    lenient_pattern,
    meet,
    spellings,
    unescape,
)
from tests.core.overlaps import matches, overlap

# Canonical paths


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("src/api.py", "src/api.py"),
        ("./src//api.py", "src/api.py"),
        ("src/./api/", "src/api"),
        (".github/workflows", ".github/workflows"),
        ("...", "..."),
        ("a b/c'd", "a b/c'd"),
        ("caf\u0065\u0301.md", "café.md"),
        ("pages/[id].tsx", "pages/[id].tsx"),
        ("./~/a", "./~/a"),
        ("~root", "./~root"),
        ("a/~/b", "a/~/b"),
    ],
)
def test_a_path_has_one_way_to_be_written(written, meant):
    assert canonical(written) == meant
    assert canonical(meant) == meant


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc/passwd", "path_absolute"),
        ("//host/share", "path_absolute"),
        ("..", "path_outside"),
        ("src/../../etc", "path_outside"),
        ("src/../api.py", "path_outside"),
        ("", "path_malformed"),
        (".", "path_malformed"),
        ("./", "path_malformed"),
        ("src\\api.py", "path_malformed"),
        ("a\0b", "path_malformed"),
        ("a\nb", "path_malformed"),
        ("a\x1b[31m", "path_malformed"),
        ("a\x7f", "path_malformed"),
        ("a\x85b", "path_malformed"),
        ("a\u2028b", "path_malformed"),
        ("a\udcff", "path_malformed"),
        ("a" * 4097, "path_malformed"),
    ],
)
def test_what_is_no_path_of_the_repository_is_refused_with_a_remedy(path, code):
    for read in (canonical, canonical_pattern):
        if read is canonical_pattern and path == "./":
            continue  # as a pattern, the root and all below
        with pytest.raises(Refused) as refusal:
            read(path)
        assert refusal.value.code == code
        assert refusal.value.remedy
        assert refusal.value.message.isprintable()
        refusal.value.message.encode()
        str(refusal.value.plain()).encode()


# Canonical patterns


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("src/api.py", "src/api.py"),
        ("src/api/", "src/api/**"),
        ("./", "**"),
        ("**/", "**"),
        ("a/**/**/b", "a/**/b"),
        ("a/**/./", "a/**"),
        ("[[]id]", "[[]id]"),
        ("*.{js,ts}", "*.{js,ts}"),
        (".//~/", "./~/**"),
        ("[~]/a", "[~]/a"),
    ],
)
def test_a_pattern_has_one_way_to_be_written(written, meant):
    assert canonical_pattern(written) == meant
    assert canonical_pattern(meant) == meant


@pytest.mark.parametrize(
    "pattern", ["a**", "**a", "a/b**/c", "***", "[", "[]", "[!]", "a[b/c]", "[z-a]", "[[:alpha:]]", "[.]", "a/[.]./b"]
)
def test_a_malformed_pattern_is_refused(pattern):
    with pytest.raises(Refused) as refusal:
        canonical_pattern(pattern)
    assert refusal.value.code == "pattern_malformed"
    assert refusal.value.remedy


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    "pattern",
    ["a" * 1024 + "*", "/".join(["a"] * 64) + "/*", "*a" * 33, "?" * 33, "[ab]" * 33, "[\u4e00-\u9fff]", "*/" * 33],
)
def test_a_pattern_that_could_cost_too_much_is_refused(pattern):
    with pytest.raises(Refused) as refusal:
        canonical_pattern(pattern)
    assert refusal.value.code == "pattern_too_complex"


def test_a_plain_path_is_not_held_to_the_limits_of_patterns():
    deep = "/".join(["a" * 20] * 100)
    assert canonical_pattern(deep) == deep
    assert overlap(deep, "**") == deep


@pytest.mark.promise(15)
def test_the_costliest_patterns_are_still_compared():
    """No search: the work is bounded by the product of the lengths. Without a bound this would not end."""
    stars = "*a" * 31 + "*b"
    assert overlap(stars, "a" * 1000) is None
    assert overlap("*" + "a" * 500 + "*", "a" * 999 + "*") is not None
    assert overlap("**/" + "*a/" * 15 + "b", "/".join(["a" * 15] * 60)) is None


# Matching


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/api.py", "src/api.py"),
        ("src/*.py", "src/api.py"),
        ("src/*.py", "src/.py"),
        ("*", ".gitignore"),
        ("src/???.py", "src/api.py"),
        ("src/**", "src/a/b/c"),
        ("src/**", "src"),
        ("src/", "src/a/b/c"),
        ("**/test_*.py", "test_a.py"),
        ("**/test_*.py", "tests/core/test_a.py"),
        ("a/**/b/**/c", "a/b/c"),
        ("a/**/b/**/c", "a/x/b/y/z/c"),
        ("*a*b*a", "aba"),
        ("*ab*ab", "abxab"),
        ("[a-c]x", "bx"),
        ("[!a-c]x", "dx"),
        ("[^a-c]x", "dx"),
        ("[]]", "]"),
        ("[!]]", "a"),
        ("[a-]", "-"),
        ("[-a]", "-"),
        ("[[]id].tsx", "[id].tsx"),
        ("[*][?]", "*?"),
        ("[.-0]", "0"),
        ("caf\u0065\u0301", "café"),
        ("???é", "café"),
        ("[а-я].md", "д.md"),
        ("!a", "!a"),
    ],
)
def test_a_pattern_matches(pattern, path):
    assert matches(pattern, path)
    assert overlap(pattern, escape(path)) == path


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/api", "src/api/a.py"),
        ("src/*", "src/a/b"),
        ("src/*", "src"),
        ("src/**", "srcs"),
        ("src?api", "src/api"),
        ("src[!a]api", "src/api"),
        ("src[.-0]api", "src/api"),
        ("a/**/b", "a/c"),
        ("**/a", "b"),
        ("*ab*ab", "abab1"),
        ("*ab*b", "aab"),
        ("ab*ba", "aba"),
        ("**/a/**/a", "a"),
        ("a/**/a", "a"),
        ("a*a", "a"),
        ("[id].tsx", "[id].tsx"),
        ("[!a-c]x", "bx"),
        ("???", "..a.."),
        ("README", "readme"),
    ],
)
def test_a_pattern_does_not_match(pattern, path):
    assert not matches(pattern, path)
    assert overlap(pattern, escape(path)) is None


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("README.md", "readme.MD"),
        ("*.MD", "readme.md"),
        ("[A-C]x", "bX"),
        ("[ab]X", "Bx"),
        ("STRAẞE", "straße"),
        ("[Ä]rger", "ärger"),
        ("\u212aelvin", "kelvin"),  # NFC makes the sign a K
        ("[ſ]ee", "SEE"),
    ],
)
def test_case_does_not_count_where_git_ignores_it(pattern, path):
    assert matches(pattern, path, fold=True)
    assert overlap(pattern, path, fold=True) is not None


@pytest.mark.parametrize(("pattern", "path"), [("[!a]", "A"), ("[!A]", "a"), ("[!B-D]", "c"), ("ẞ", "ss")])
def test_a_negated_class_excludes_both_cases_where_git_ignores_it(pattern, path):
    assert not matches(pattern, path, fold=True)


# Overlap


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("one", "other", "witness"),
    [
        ("src/a.py", "src/a.py", "src/a.py"),
        ("src/*.py", "src/a*", "src/ax.py"),
        ("src/**", "**/a.py", "src/x/a.py"),
        ("src/**", "src", "src"),
        ("src/**", "src/**", "src/x"),
        ("**", "**", "x"),
        ("*", "*", "x"),
        ("a/**/c", "a/b/*", "a/b/c"),
        ("**/a/**", "**/b/**", "x/a/b"),
        ("[!a-w]*", "[!x-z]", "0"),
        (".*", "*.", ".x."),
        ("*.*", "?[.]", "x."),
        ("[._]", "[!a]", "_"),
        ("[--0]", "[!-.0]", None),  # a slash is between
        ("[~-¡]", "[!~\u00a0¡]", None),  # only control characters are between
        ("[a.]", "[.b]?", None),
        ("[.a]", "[.b]", None),
        ("[.a][.b]", "[.c][.d]", None),
        ("?.", "[.b]?", "b."),
        ("./~/a", "*/a", "./~/a"),
        ("./~/a", "[~]/?", "./~/a"),
        ("./~/*", "[~]/a", "./~/a"),
        ("./~/*", "?/a", "./~/a"),
        ("./~/a", "*/*/a", None),
        ("src/*.py", "src/*.js", None),
        ("a*", "b*", None),
        ("*a", "*b", None),
        ("a/**/b", "a/**/c", None),
        ("a/*", "a/*/*", None),
        ("a/**/b/*", "a/*", None),
        ("[abc]", "[def]", None),
        ("[abc]", "[!abc]", None),
        ("src/api", "src/api.py", None),
    ],
)
def test_two_patterns_overlap_in_a_witness_or_not_at_all(one, other, witness):
    assert overlap(one, other) == witness
    assert (overlap(other, one) is None) is (witness is None)


def test_the_witness_keeps_the_case_of_a_plain_path():
    assert overlap("README.md", "*.md", fold=True) == "README.md"


# Small patterns against brute force. Names use the characters that patterns mention and one that none does.

ATOMS = ("a", "b", ".", "?", "*", "[ab]", "[a.]", "[!a]", "[!.]", "[!ab]", "[^b.]")


def _well_formed(atoms: list[str]) -> bool:
    text = "".join(atoms)
    return "**" not in text and text not in (".", "..")


def names(characters: str, longest: int) -> list[str]:
    spelled = itertools.chain.from_iterable(itertools.product(characters, repeat=n + 1) for n in range(longest))
    return [name for name in map("".join, spelled) if name not in (".", "..")]


def segments(most: int) -> st.SearchStrategy[str]:
    stars = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=2 * most + 1)
    few = stars.filter(lambda atoms: len([atom for atom in atoms if atom != "*"]) <= most)
    return few.filter(_well_formed).map("".join)


def read_naively(segment: str) -> re.Pattern[str]:
    translated = segment.replace(".", "\\.").replace("?", ".").replace("*", ".*").replace("[!", "[^")
    return re.compile(translated)


LONG_NAMES = names("ab.z", 5)
SHORT_NAMES = names("ab.z", 3)


@given(segments(2), segments(2))
@example("*.*", "?[a.]")
@example("*.*", "?[!a]")
@example("[a.]?", "?[!ab]")
def test_overlap_of_segments_agrees_with_brute_force(one, other):
    first, second = read_naively(one), read_naively(other)
    shared = any(first.fullmatch(name) and second.fullmatch(name) for name in LONG_NAMES)
    assert (overlap(one, other) is not None) is shared


PATHS = st.lists(st.just("**") | segments(1), min_size=1, max_size=5).filter(
    lambda parts: len([part for part in parts if part != "**"]) <= 2
)


def lengths(parts: list[str], length: int):
    """Every way to read the segments as exactly so many, each as the set of short names that it matches."""
    if not parts:
        if length == 0:
            yield []
    elif parts[0] == "**":
        for taken in range(length + 1):
            for rest in lengths(parts[1:], length - taken):
                yield [set(SHORT_NAMES)] * taken + rest
    elif length:
        matched = {name for name in SHORT_NAMES if read_naively(parts[0]).fullmatch(name)}
        for rest in lengths(parts[1:], length - 1):
            yield [matched, *rest]


@given(PATHS, PATHS)
def test_overlap_of_paths_agrees_with_brute_force(one, other):
    shared = any(
        all(left & right for left, right in zip(first, second, strict=True))
        for length in range(1, 5)
        for first in lengths(one, length)
        for second in lengths(other, length)
    )
    assert (overlap("/".join(one), "/".join(other)) is not None) is shared


@given(PATHS, st.lists(st.sampled_from(SHORT_NAMES), min_size=1, max_size=4))
def test_matching_agrees_with_brute_force(parts, path):
    matched = any(
        all(name in allowed for name, allowed in zip(path, ways, strict=True)) for ways in lengths(parts, len(path))
    )
    assert matches("/".join(parts), "/".join(path)) is matched
    assert (overlap("/".join(parts), "/".join(path)) is not None) is matched


@given(
    st.lists(st.sampled_from("aab**?"), min_size=1, max_size=9).map("".join).filter(lambda text: "**" not in text),
    st.text("ab", min_size=1, max_size=8),
)
def test_matching_of_long_names_agrees_with_brute_force(segment, name):
    assert matches(segment, name) is bool(read_naively(segment).fullmatch(name))
    among = ("**" if atom == "*" else "*" if atom == "?" else atom for atom in segment)
    assert matches("/".join(among), "/".join(name)) is bool(read_naively(segment).fullmatch(name))


# Patterns of any kind

CHARACTERS = st.sampled_from("abxAX.-_ ]!^é日ßẞſ") | st.characters(codec="utf-8", exclude_characters="/\\*?[")
PIECES = CHARACTERS | st.sampled_from(["?", "*", "[a-f]", "[!a-f]", "[[]", "[*]", "[x-z.]", "[!x]", "[]é]", "[A-Z]"])
ANYTHING = st.lists(st.just("**") | st.lists(PIECES, min_size=1, max_size=6).map("".join), min_size=1, max_size=5)


@st.composite
def patterns(draw) -> str:
    text = "/".join(draw(ANYTHING))
    try:
        return canonical_pattern(text)
    except Refused:
        return escape(canonical(draw(st.sampled_from(["a", "x/y", "[id]/*?"]))))


def same_after_normalising(path: str) -> bool:
    try:
        return canonical(path) == path
    except Refused:
        return False


@given(patterns(), patterns(), st.booleans())
def test_overlap_is_symmetric_and_its_witness_matches_both(one, other, fold):
    witness = overlap(one, other, fold=fold)
    assert (witness is None) is (overlap(other, one, fold=fold) is None)
    if witness is not None and same_after_normalising(witness):  # a lone accent may compose with what a `?` stands for
        assert matches(one, witness, fold=fold)
        assert matches(other, witness, fold=fold)


@given(patterns(), st.booleans())
def test_every_pattern_overlaps_itself_and_the_whole_repository(pattern, fold):
    assert overlap(pattern, pattern, fold=fold) is not None
    assert overlap(pattern, "**", fold=fold) is not None


@given(patterns(), patterns())
def test_what_overlaps_still_does_where_case_does_not_count(one, other):
    """Negated classes apart: they exclude more when both cases count as one."""
    if "[!" not in one + other and "[^" not in one + other and overlap(one, other) is not None:
        assert overlap(one, other, fold=True) is not None


@given(patterns())
def test_a_canonical_pattern_is_its_own_canonical_form(pattern):
    assert canonical_pattern(pattern) == pattern


@given(st.lists(st.text("ab*?[]!-^.é", min_size=1), min_size=1, max_size=4).map("/".join))
def test_an_escaped_path_matches_itself_and_is_as_quick_as_a_plain_one(text):
    try:
        path = canonical(text)
    except Refused:
        return
    pattern = escape(path)
    assert compiled(pattern).literal == path
    assert matches(pattern, path)
    assert overlap(pattern, pattern) == path


@given(st.text("ab*?[]!-/"))
def test_an_escaped_text_is_what_was_typed_with_all_or_only_some_characters_escaped(text):
    assert unescape(escape(text)) == text
    assert unescape(escape(text, "[")) == text


def test_brackets_alone_can_be_taken_literally():
    assert escape("app/[id]/*.ts?", "[") == "app/[[]id]/*.ts?"
    assert matches("app/[[]id]/*.ts?", "app/[id]/page.tsx")


@pytest.mark.parametrize(
    ("typed", "held", "fold"),
    [
        ("pages/[id].tsx", "pages/[[]id].tsx", False),
        ("pages/[[]id].tsx", "pages/[id].tsx", False),
        ("[[]id]", escape("[[]id]"), False),
        ("src", "src/**", False),
        ("src/**", "src", False),
        ("a*b", "a[*]b", False),
        ("SRC/[ID]", "src/[[]id]/**", True),
    ],
)
def test_what_was_typed_in_one_spelling_is_found_in_the_other(typed, held, fold):
    assert spellings(typed, fold=fold) & spellings(held, fold=fold)


@pytest.mark.parametrize(("one", "other"), [("src", "src/*"), ("a", "A"), ("src/**", "srcs/**"), ("**", "src")])
def test_what_means_something_else_is_no_other_spelling(one, other):
    assert not spellings(one) & spellings(other)


def test_who_only_asks_may_name_a_file_that_is_no_pattern():
    assert lenient_pattern("[user-id].tsx") == "[[]user-id].tsx"
    assert lenient_pattern("src/") == "src/**"
    with pytest.raises(Refused):
        lenient_pattern("../[z-a]")


def test_every_code_stands_where_it_is_raised():
    """The reference of errors is made from the source: it finds a code only beside the error that carries it."""
    calls = [node for node in ast.walk(ast.parse(Path(paths.__file__).read_text())) if isinstance(node, ast.Call)]
    raised = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Refused"]
    codes = {"path_malformed", "path_absolute", "path_outside", "pattern_malformed", "pattern_too_complex"}
    assert {code.value for code in raised if isinstance(code, ast.Constant)} == codes
    assert all(isinstance(code, ast.Constant) for code in raised)


@given(st.text() | st.text("ab*?[]!-^./\\"))
def test_any_text_at_all_is_read_or_refused(text):
    for read in (canonical, canonical_pattern):
        with suppress(Refused):
            assert read(read(text)) == read(text)


def test_two_plain_paths_are_compared_as_text(monkeypatch):
    monkeypatch.setattr(paths, "common_sequence", None)
    assert meet(compiled("src/a.py"), compiled("src/b.py")) is None
    assert meet(compiled("src/a.py"), compiled("src/a.py")) == "src/a.py"
    assert meet(compiled("src/a.py"), compiled("docs/*.md")) is None


def test_ascii_paths_load_no_machinery():
    script = (
        "import sys; before = set(sys.modules);"
        "from moot.core.paths import compiled, meet;"
        "assert meet(compiled('src/**/[a-c]?.py', fold=True), compiled('src/*.py', fold=True));"
        "print(*sorted({'re', 'fnmatch', 'unicodedata', 'typing', 'functools'} & (set(sys.modules) - before)))"
    )
    source = Path(paths.__file__).parents[2]
    child = [sys.executable, "-c", script]
    done = subprocess.run(
        child, env={"PYTHONPATH": str(source)}, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
