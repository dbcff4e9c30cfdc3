"""Reading files: their digests."""

from __future__ import annotations

import os
import random
import subprocess
import sys

from moot.mirrors.file_reading import digest_of

_LARGE = 200_000


def test_the_digest_of_a_large_content_does_not_depend_on_what_was_read_before():
    chance = random.Random(7)
    base = chance.randbytes(_LARGE)
    contents = [
        base,
        base + b"more",
        base[:-1],
        base[:131_072],
        base[:65_537],
        b"x" + base,
        base,
        base[:131_071] + b"!",
    ]
    chance.shuffle(contents)
    alone = [_in_a_new_process(content) for content in contents]
    assert [digest_of(content) for content in contents] == alone
    assert len(set(alone)) == len(set(contents))


def test_one_changed_byte_in_any_block_changes_the_digest():
    base = bytes(_LARGE)
    found = {digest_of(base)}
    for place in (0, 65_535, 65_536, 131_072, _LARGE - 1):
        found.add(digest_of(base[:place] + b"!" + base[place + 1 :]))
        digest_of(base)
    assert len(found) == 6


def _in_a_new_process(content: bytes) -> str:
    said = "import sys; from moot.mirrors.file_reading import digest_of; print(digest_of(sys.stdin.buffer.read()))"
    done = subprocess.run([sys.executable, "-c", said], input=content, capture_output=True, check=True, env=os.environ)
    return done.stdout.decode().strip()
