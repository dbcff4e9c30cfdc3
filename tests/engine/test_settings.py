"""moot.toml: what it may say, what is said about a bad one, and that a cached one is never believed too long."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import moot
from moot import place as location
from moot.api import following
from moot.api.verbs import events
from moot.core.claims import ClaimFiles, ClaimsState
from moot.core.deciders.claims import decide
from moot.core.errors import Unavailable, Usage
from moot.place import caches, settings
from moot.place.settings import Settings, seconds
from moot.place.settings.lines import Lines
from moot.place.settings.parse import KEYS, parse, size
from moot.surfaces.cli import watching
from moot.wiring.packs import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.place import Place

ALONE = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
LONG_AGO = 1_000_000_000

FULL = """\
packs = ["orchestrator", "gsd"]

[tasks]
ttl = "45m"
attempts = 5
review = false
lifecycle = "orchestrator"

[claims]
ttl = 90
scope = "worktree"

[messages]
limit = "2MiB"

[mirrors]
torn_after = "2.5s"

[pack.orchestrator]
stuck_after = "30m"
expire = false
nested = { list = [1, "two"] }
"""


AWKWARD = (
    r"""
# [tasks]
plain = 1
a . "b.c" . 'd' = '''
[tasks]
x = "
'''
text = "\\\" # not a comment"
list = [ # ]
  "]", # [tasks]
  { in = 1 }, [
    2]
]
[ t . "q]\u0041" ] # t = 1
key = "=" # key
[[t.many]]
k = 1
[[t.many]]
k = 1979-05-27 07:32:00
in.line = { deep = { er = "}" }, two = ["a", "b"] }
long = """
    '''"""
key = 1 \\"""
last = 1
""""" # two quotes belong to the text
end = 1
'''
)


@pytest.fixture
def here(tmp_path: Path) -> Place:
    made = location.create(str(tmp_path), {})
    Path(made.state, "log.db").touch()  # without a log nothing is kept
    return made


def write(here: Place, text: str, *, old: bool = True) -> None:
    """Write the settings, by default long enough ago to be cached."""
    path = os.path.join(here.root, "moot.toml")
    Path(path).write_text(text)
    if old:
        os.utime(path, (LONG_AGO, LONG_AGO))


def problems(text: str | bytes) -> list[tuple[int, str]]:
    with pytest.raises(Usage) as caught:
        parse("moot.toml", text if isinstance(text, bytes) else text.encode())
    assert caught.value.code == "bad_settings"
    found = caught.value.details["problems"]
    assert all(f"line {problem['line']}: {problem['text']}" in caught.value.message for problem in found)
    return [(problem["line"], problem["text"]) for problem in found]


# What holds


def test_without_a_file_the_defaults_hold(here: Place) -> None:
    assert settings.load(here) == Settings()
    assert settings.source(here) is None
    assert Settings().message_limit == 1024 * 1024


def test_the_documented_defaults_are_the_defaults() -> None:
    assert Settings() == Settings(
        packs=(),
        task_ttl=30 * 60.0,
        task_attempts=3,
        task_review=True,
        task_lifecycle="core",
        task_receipt=False,
        claim_ttl=30 * 60.0,
        claim_scope="workspace",
        message_limit=1024 * 1024,
        mirror_torn_after=5.0,
        handlers=(),
        pack_settings={},
        runs={},
    )


def test_the_orchestrator_allows_messages_of_8_mib(tmp_path: Path) -> None:
    assert pack("orchestrator", str(tmp_path)).message_limit == 8 * 1024 * 1024


def test_everything_that_watches_looks_at_least_every_two_seconds() -> None:
    assert (following.ROUND, events._ROUND, watching._TICK) == (2.0, 2.0, 1.0)


def test_every_key_arrives(here: Place) -> None:
    write(here, FULL)
    expected = Settings(
        packs=("orchestrator", "gsd"),
        task_ttl=2700.0,
        task_attempts=5,
        task_review=False,
        task_lifecycle="orchestrator",
        claim_ttl=90.0,
        claim_scope="worktree",
        message_limit=2 * 1024 * 1024,
        mirror_torn_after=2.5,
        pack_settings={"orchestrator": {"stuck_after": "30m", "expire": False, "nested": {"list": [1, "two"]}}},
    )
    assert settings.load(here) == expected  # read
    assert settings.load(here) == expected  # remembered
    assert {field for field, _ in KEYS.values()} | {"pack_settings", "handlers", "runs"} == set(Settings().__dict__)


@pytest.mark.parametrize(
    "text",
    [
        'tasks.ttl = "1h"',
        'tasks = { ttl = "1h" }',
        '["tasks"]\n"ttl" = 3600',
        "[ tasks ] # a comment\r\nttl = 3600.0\r\n",
        "\ufefftasks.\"ttl\" = '''\n1h'''",
    ],
)
def test_any_toml_spelling_of_a_key_is_the_key(text: str) -> None:
    assert parse("moot.toml", text.encode()) == Settings(task_ttl=3600.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("90s", 90.0), ("30m", 1800.0), ("2h", 7200.0), ("1d", 86400.0), ("250ms", 0.25), ("1.5h", 5400.0),
        ("90", 90.0), (90, 90.0), (0.5, 0.5), (0, 0.0), (" 5s ", 5.0),
        ("", None), ("s", None), ("-5s", None), (-1, None), ("5 minutes", None), ("1e3s", None), ("5sm", None),
        ("1_0s", None), ("٣s", None), ("²s", None), ("1.2.3s", None), ("inf", None), (float("nan"), None),
        (float("inf"), None), (10**400, None), ("9" * 400, None), (True, None), (None, None), (["5s"], None),
    ],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(value: object, expected: float | None) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1MiB", 2**20), ("512KiB", 2**19), ("1.5 MB", 1_500_000), ("10kB", 10_000), ("7B", 7), ("7", 7), (7, 7),
        ("1mib", None), ("MiB", None), ("-1", None), (-1, None), (1.5, None), (True, None), ("9" * 400, None),
    ],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(value: object, expected: int | None) -> None:
    assert size(value) == expected


# Where it is


def test_the_main_worktrees_file_holds_for_all_worktrees(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, env=ALONE, check=True, timeout=60)

    git("init", "-q", "main")
    git("-C", "main", "commit", "-q", "--allow-empty", "-m", "begin")
    git("-C", "main", "worktree", "add", "-q", "../linked")
    linked = location.find(str(tmp_path / "linked"), {})

    (tmp_path / "linked" / "moot.toml").write_text("tasks.attempts = 7")
    assert settings.load(linked).task_attempts == 7, "the main worktree has none"
    (tmp_path / "main" / "moot.toml").write_text("tasks.attempts = 8")
    assert settings.load(linked).task_attempts == 8


def bare_with_worktrees(tmp_path: Path) -> list[Place]:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, env=ALONE, check=True, timeout=60)

    git("init", "-q", "main")
    git("-C", "main", "commit", "-q", "--allow-empty", "-m", "begin")
    git("clone", "-q", "--bare", "main", "bare.git")
    for name in ("one", "two"):
        git("-C", "bare.git", "worktree", "add", "-q", f"../{name}")
    return [location.find(str(tmp_path / name), {}) for name in ("one", "two")]


def test_a_bare_repository_has_its_settings_in_the_git_directory(tmp_path: Path) -> None:
    one, two = bare_with_worktrees(tmp_path)
    (tmp_path / "one" / "moot.toml").write_text("tasks.attempts = 7")
    assert settings.ignored(one, settings.source(one)) == str(tmp_path / "one" / "moot.toml")
    (tmp_path / "bare.git" / "moot.toml").write_text("tasks.attempts = 9")
    for here in (one, two, location.find(str(tmp_path / "bare.git"), {}, named=True)):
        assert settings.load(here).task_attempts == 9
    assert settings.ignored(two, settings.source(two)) is None


# What is said about a bad one


def test_the_longest_ttl_of_a_claim_is_one_that_a_claim_can_have() -> None:
    longest = parse("moot.toml", b"claims.ttl = '30d'").claim_ttl
    assert decide(ClaimsState(), ClaimFiles(id="c1", holder="Yeats#1", paths=("a",), mode="shared", ttl=longest))
    [(line, said)] = problems("[claims]\nttl = '60d'")
    assert line == 2
    assert said.startswith("claims.ttl: expected a duration")
    assert said.endswith('from 1s to 30d, got "60d"')


@pytest.mark.promise(15)
def test_all_problems_are_told_at_once_with_their_lines() -> None:
    text = """\
packs = ["orchestrator", 3]
color = "red"

[tasks]
tll = "30m"
attempts = 0
review = "yes"   # a comment
ttl = "soon"

[claims]
scope = "planet"

[messages]
limit = "1TiB"
"""
    found = problems(text)
    assert [line for line, _ in found] == [1, 2, 5, 6, 7, 8, 11, 14]
    said = dict(found)
    assert said[5] == "unknown key tasks.tll; did you mean tasks.ttl?"
    assert said[6] == "tasks.attempts: expected a whole number from 1 to 1000, got 0"
    assert said[7] == 'tasks.review: expected true or false, got "yes"'
    assert '"soon"' in said[8]
    assert '"30m"' in said[8]
    assert said[11] == 'claims.scope: expected "workspace" or "worktree", got "planet"'


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ('ttl = "30m"', 1, "tasks.ttl or claims.ttl"),
        ('[task]\nttl = "30m"', 1, "did you mean tasks?"),
        ('\n[messages]\nLimit = "1MiB"', 3, "messages.limit"),
        ("zebra = 1", 1, "valid keys: packs, tasks.ttl"),
        ("tasks = 3", 1, "[tasks]"),
        ("\n[packs.orchestrator]\nx = 1", 2, "[pack.NAME]"),
        ("packs = ['gsd', 'gsd']", 1, "without duplicates"),
        ("packs = ['orchestrator']\n[pack.orchestratr]\nx = 1", 2, "[pack.orchestrator]"),
        ("[pack.gsd]\nx = 1", 1, "add it to packs"),
        ("[pack]\norchestrator = 1", 2, "[pack.orchestrator]"),
        ("packs = ['gsd']\n[pack.gsd]\nsince = [\n1,\n2031-05-08,\n]", 5, "pack.gsd.since[1]"),
        ('"tasks.ttl" = 3', 1, "unknown key"),
        ('[tasks]\n"a.b\\u001b" = 3', 2, 'tasks."a.b\\u001b"'),
        ("tasks.attempts = true", 1, "got true"),
        ("tasks.attempts = 3.0", 1, "got 3.0"),
        ("tasks.ttl = 0", 1, "from 1s to 365d"),
        ("tasks.ttl = '400d'", 1, "from 1s to 365d"),
        ("tasks.ttl = nan", 1, "got NaN"),
        ("[claims]\nttl = '31d'", 2, "from 1s to 30d"),
        ("tasks.lifecycle = 'Two Words'", 1, "lowercase letters"),
        ("mirrors.torn_after = 1979-05-27", 1, '"1979-05-27"'),
        ("messages.limit = 1", 1, "from 1024"),
        ("claims.ttl = {}", 1, "got a table"),
        ("claims.scope = [" + "1, " * 100 + "]", 1, "…"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_what_was_expected(text: str, line: int, hint: str) -> None:
    [(found, said)] = problems(text)
    assert found == line
    assert hint in said


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (b"a = 1\nb = \n", 2, 5),
        (b"a = 1\n\n[tasks\nx = 1\n", 3, 7),
        (b"a = 1\na = 2\n", 2, 6),
        (b"a = 1\n\nb = [1,\n", 3, 8),
        (b'a = "\x1b"\n', 1, 6),
        (b"a = 1\nb = '\xff'\n", 2, 6),
        (b"\xff\xfea\x00", 1, 1),
    ],
)
def test_a_syntax_error_carries_line_and_column(text: bytes, line: int, column: int) -> None:
    with pytest.raises(Usage) as caught:
        parse("moot.toml", text)
    [problem] = caught.value.details["problems"]
    assert (problem["line"], problem["column"]) == (line, column)
    assert f"line {line}" in caught.value.message


@given(
    st.lists(
        st.sampled_from([*FULL.splitlines(), *AWKWARD.splitlines(), "a = [[", "[tasks.ttl]", "pack = 1"]), max_size=20
    )
    | st.text(max_size=60).map(str.splitlines)
)
def test_whatever_the_file_says_the_answer_is_settings_or_all_its_problems(lines: list[str]) -> None:
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    told = []
    try:
        parse("moot.toml", text)
    except Usage as error:
        told = error.details["problems"] or [{"line": -1}]
    assert all(1 <= problem["line"] <= len(lines) + 1 for problem in told)


def test_a_file_nested_without_end_is_a_problem_and_no_crash() -> None:
    problems("a = " + "[" * 100_000)


def test_a_file_that_cannot_be_read_is_unavailable(here: Place) -> None:
    path = Path(here.root, "moot.toml")
    path.mkdir()
    with pytest.raises(Unavailable, match="not a regular file"):
        settings.load(here)
    path.rmdir()
    path.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(Unavailable, match="larger than"):
        settings.load(here)


# Lines


def test_the_line_of_a_key_is_found_among_all_that_toml_allows() -> None:
    data: Any = tomllib.loads(AWKWARD)
    expected: dict[tuple[str | int, ...], int] = {
        ("plain",): 3,
        ("a",): 4,
        ("a", "b.c", "d"): 4,
        ("text",): 8,
        ("list",): 9,
        ("list", 0): 10,
        ("list", 1, "in"): 11,
        ("list", 2, 0): 12,
        ("t", "q]A"): 14,
        ("t", "q]A", "key"): 15,
        ("t", "many", 0): 16,
        ("t", "many", 0, "k"): 17,
        ("t", "many", 1, "k"): 19,
        ("t", "many", 1, "in", "line", "deep", "er"): 20,
        ("t", "many", 1, "in", "line", "two", 1): 20,
        ("t", "many", 1, "long"): 21,
        ("t", "many", 1, "end"): 25,
    }
    for path in expected:
        functools.reduce(lambda value, key: value[key], path, data)  # the reader knows it
    lines = Lines(AWKWARD)
    assert {path: lines.of(path) for path in expected} == expected


def test_what_has_no_line_has_that_of_what_is_around_it() -> None:
    lines = Lines("\n[a]\nb = 1\n")
    assert [lines.of(path) for path in (("a", "b", "c"), ("a", "x"), ("y",), ())] == [3, 2, 1, 1]


# The cache


def cached(here: Place) -> Path:
    return Path(here.state, "cache", "settings.json")


def test_what_was_read_is_remembered_until_the_file_changes(here: Place) -> None:
    write(here, "tasks.attempts = 4")
    assert settings.load(here).task_attempts == 4
    kept = caches.recall(str(cached(here)))
    kept["settings"]["task_attempts"] = 44  # to see where the answer comes from
    caches.keep(str(cached(here)), kept)
    assert settings.load(here).task_attempts == 44
    write(here, "tasks.attempts = 5")
    assert settings.load(here).task_attempts == 5, "same size, same time, another change time"


def test_an_edit_right_after_reading_is_seen(here: Place) -> None:
    """Two edits within one tick of the file system look the same, so a file that young is not remembered."""
    for attempts in (4, 5, 6):
        write(here, f"tasks.attempts = {attempts}", old=False)
        assert settings.load(here).task_attempts == attempts
    assert not cached(here).exists()


def test_a_cache_of_another_schema_or_a_damaged_one_is_not_believed(here: Place) -> None:
    write(here, "tasks.attempts = 4")
    settings.load(here)
    kept, written = caches.recall(str(cached(here))), cached(here).read_bytes()
    wrong: list[Any] = [{**kept, "schema": 0}, {**kept, "signature": []}, {**kept, "settings": None}, {}, [], 7]
    for damage in wrong:
        caches.keep(str(cached(here)), damage)
        assert settings.load(here).task_attempts == 4
    for content in (b"", b"\xff{", json.dumps(kept).encode(), written.replace(b'attempts": 4', b'attempts": 5')):
        cached(here).write_bytes(content)
        assert settings.load(here).task_attempts == 4
    assert cached(here).read_bytes() == written


def test_a_bad_file_is_never_hidden_by_the_cache(here: Place) -> None:
    write(here, "tasks.attempts = 4")
    settings.load(here)
    write(here, "tasks.attempts = -")
    for _ in range(2):
        with pytest.raises(Usage):
            settings.load(here)


def test_a_cache_that_cannot_be_written_is_no_error(here: Place) -> None:
    write(here, "tasks.attempts = 4")
    Path(here.state, "cache").write_text("in the way")
    assert settings.load(here).task_attempts == 4


def test_reading_settings_makes_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text("tasks.attempts = 4")
    os.utime(tmp_path / "moot.toml", (LONG_AGO, LONG_AGO))
    assert settings.load(location.find(str(tmp_path), {})).task_attempts == 4
    assert os.listdir(tmp_path) == ["moot.toml"]


@pytest.mark.parametrize("text", [None, "tasks.attempts = 4"])
def test_a_fresh_process_reads_no_toml_if_it_need_not(here: Place, text: str | None) -> None:
    if text is not None:
        write(here, text)
        settings.load(here)
    script = (
        "import sys; from moot import place as location; from moot.place import settings; "
        "settings.load(location.find(sys.argv[1], {})); "
        "print(*sorted({'tomllib', 'moot.place.settings.parse', 'subprocess', 'datetime'} & set(sys.modules)))"
    )
    root = os.path.dirname(os.path.dirname(os.path.abspath(moot.__file__)))
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, here.root],
        env={"PYTHONPATH": root}, check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == ""
