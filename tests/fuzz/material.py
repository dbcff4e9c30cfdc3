"""What the fuzzing is made of: spoiled texts, values of any shape, and a bound on how long an answer may take."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st

from tests.person import ME

BUDGET = 10.0  # seconds of computing time, however busy the machine is


@contextmanager
def bounded() -> Iterator[None]:
    """Fails where something does not end."""

    def over(_signal: int, _frame: Any) -> None:
        raise AssertionError(f"no answer after {BUDGET:g} s of computing")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, BUDGET)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@st.composite
def spoiled(draw: st.DrawFn, *good: bytes) -> bytes:
    """One of the good texts after a few accidents: cut, doubled, with bytes exchanged or put in between."""
    data = draw(st.sampled_from(good))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        piece = draw(st.one_of(st.binary(max_size=8), st.sampled_from(PIECES), st.just(data[start:end] * 2)))
        data = data[:start] + piece + data[end:]
    return data


PIECES = [
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b'"', b"'", b"\\", b"\\ud800", b"\\u0000"),
    *(b"[", b"]", b"{", b"}", b"[" * 300, b"=", b",", b":", b"#", b"1e999", b"NaN", b"-0", b"9" * 50, b"null", b"../"),
]
WORDS = st.one_of(
    st.sampled_from(
        [
            *(
                "",
                " ",
                "-",
                "--",
                "-1",
                "0",
                "1",
                "9" * 30,
                "1e9",
                "nan",
                "inf",
                "30m",
                "1d",
                "true",
                "null",
                "{}",
                "[]",
            ),
            *("Ada", "Bob", "ada#1", "@all", "@reviewer", ME, "task-001", "task-003", "core", "high"),
            *(
                "src/b.py",
                "**",
                "src/[!a",
                "*" * 40,
                "a/../../b",
                "/etc/passwd",
                "~",
                "\\",
                "a\x00b",
                "\udcff",
                "\ud800",
            ),
            *(
                "\x1b[31m",
                "\u202e",
                "a\nb",
                "x" * 5000,
                "é" * 300,
                "@nothing.json",
                '{"a": ' * 50,
                "2031-05-08T09:30:00Z",
            ),
        ]
    ),
    st.text(max_size=20),
    st.binary(max_size=12).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.sampled_from([2**63, -(2**70), 10**400])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)
