"""Ruby's own YAML library, Psych, in one process that answers line by line."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import contextmanager

import pytest

_PROGRAM = """
require "json"
require "yaml"
$stdout.sync = true
$stdin.each_line do |line|
  verb, given = JSON.parse(line)
  begin
    answer = verb == "load" ? YAML.safe_load(given) : given.to_yaml
    puts JSON.generate(["ok", answer])
  rescue StandardError, SyntaxError => error
    puts JSON.generate(["error", error.message.scrub])
  end
end
"""

needs_ruby = pytest.mark.skipif(shutil.which("ruby") is None, reason="needs ruby (tools/packages)")


class Psych:
    """See the module."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def load(self, text: str) -> object:
        return self._ask("load", text)

    def dump(self, value: object) -> str:
        return str(self._ask("dump", value))

    def _ask(self, verb: str, given: object) -> object:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([verb, given]) + "\n")
        self._process.stdin.flush()
        outcome, answer = json.loads(self._process.stdout.readline())
        assert outcome == "ok", f"Psych: {answer}, given {given!r}"
        return answer


@contextmanager
def psych():
    command = ["ruby", "-EUTF-8:UTF-8", "-e", _PROGRAM]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        yield Psych(process)
    finally:
        process.communicate(timeout=30)
