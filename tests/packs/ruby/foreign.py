"""Ruby files that nobody of this project wrote: the libraries that are installed with Ruby."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache

FOLDERS = (
    "/usr/lib/ruby",
    "/usr/share/rubygems-integration",
    "/usr/share/ruby",
    "/var/lib/gems",
    "/usr/local/lib/ruby",
)
LEAST = 300
RIPPER = os.path.join(os.path.dirname(__file__), "ripper.rb")

# What tree-sitter-ruby 0.23 cannot read although Ruby can, by the end of the path. Found by comparing with Ripper.
GRAMMAR_LIMITS = {
    "parser/builders/default.rb": "a method named self: `def self(token)`",
    "rubocop/ast/builder.rb": "the key `defined?:` in a hash",
    "typeprof/type.rb": "symbols of special variables, such as `:$,`",
    "rubocop/cop/style/perl_backrefs.rb": "symbols of special variables, such as `:$'`",
    "rubocop/cop/style/special_global_vars.rb": "symbols of special variables, such as `:$:`",
}


@cache
def files() -> tuple[str, ...]:
    """Every file once, although folders are linked to each other; without those beyond the grammar."""
    found = set()
    for folder in FOLDERS:
        for directory, _, names in os.walk(folder):
            found |= {os.path.realpath(os.path.join(directory, name)) for name in names if name.endswith(".rb")}
    return tuple(sorted(path for path in found if os.path.isfile(path)))


def usable() -> bool:
    return shutil.which("ruby") is not None and len(files()) >= LEAST


def limited(path: str) -> bool:
    return path.endswith(tuple(GRAMMAR_LIMITS))


def sample(count: int = 330) -> list[str]:
    """The same files every time, spread over all libraries."""
    known = [path for path in files() if not limited(path)]
    step = max(1, len(known) // count)
    return known[::step]


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def ripper(paths: list[str]) -> dict[str, dict]:
    """What Ruby's own parser finds in these files."""
    asked = "\n".join(paths)
    run = subprocess.run(
        ["ruby", "-W0", RIPPER], input=asked, capture_output=True, text=True, timeout=300, check=True, encoding="utf-8"
    )
    return {one["path"]: one for one in map(json.loads, run.stdout.splitlines())}


def refused_by_ruby(texts: list[str]) -> list[int]:
    """The numbers of the texts that are not valid Ruby, found by one process."""
    run = subprocess.run(
        ["ruby", "-W0", RIPPER, "syntax"],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        encoding="utf-8",
    )
    return json.loads(run.stdout)
