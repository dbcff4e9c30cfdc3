"""Classes and visibility of the methods of installed libraries, compared with what Ruby reports after loading them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict

import pytest

from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse
from tests.packs.ruby import foreign

REPORT = os.path.join(os.path.dirname(__file__), "reflection.rb")
LIBRARIES = [
    *("set", "optparse", "uri", "json", "erb", "csv", "net/http", "ostruct", "tempfile", "pstore", "forwardable"),
    *("delegate", "securerandom", "time", "date", "open3", "logger", "find", "tsort", "shellwords", "benchmark"),
    *("observer", "singleton", "resolv", "ipaddr", "digest", "yaml", "getoptlong", "weakref", "monitor", "racc/parser"),
    *("rexml/document", "rspec/core", "rspec/mocks", "rspec/expectations", "factory_bot"),
]
# Files whose declarations depend on what other files or Ruby itself decide when they run.
DECIDED_LATER = {
    "pp.rb": "module_eval in a loop",
    "rss/atom.rb": "class_eval in the hook of an include",
    "psych.rb": "a class inside class << self",
    "fileutils.rb": "its own private_module_function",
}


def reported() -> dict[str, dict[tuple[int, str], set[tuple[str, str, str]]]]:
    run = subprocess.run(
        ["ruby", "-W0", REPORT, *LIBRARIES], capture_output=True, text=True, timeout=120, check=True, encoding="utf-8"
    )
    files: dict = defaultdict(lambda: defaultdict(set))
    for path, line, owner, kind, name, visibility in json.loads(run.stdout):
        if path.endswith(".rb") and not path.endswith(tuple(f"/{one}" for one in DECIDED_LATER)):
            files[path][line, name].add((owner, kind, visibility))
    return files


@pytest.mark.proves("S2-DISC-04")
@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_class_kind_and_visibility_are_those_that_ruby_reports():
    compared, wrong = 0, []
    for path, known in reported().items():
        for one in declarations(parse(foreign.read(path))).definitions:
            theirs = known.get((one.first_line, one.name))
            if theirs is None or one.nested:
                continue
            compared += 1
            if (one.owner or "Object", one.kind, one.visibility) not in theirs:
                wrong.append((path, one, theirs))
    assert wrong == []
    assert compared > 2000
