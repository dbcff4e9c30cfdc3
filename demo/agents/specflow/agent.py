"""An agent that takes one issue of a wave from its contract to its tests. moot starts it, with the issue on its input.

It talks to the others only with the `moot` command. There is no model: what it writes is in the table below. For issue
50, it first forgets something that its contract asks for.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import craft

ISSUE = os.environ["ISSUE_NUMBER"]
ROUTES = "src/lib/routes.py"
TEST = """\
from __future__ import annotations

import sqlite3
import unittest

from database import database
from lib.routes import ROUTES


class Contract(unittest.TestCase):
"""
WORK = {  # the table of an issue; its SQL, at first and corrected; its page; its tests
    "50": (
        "wishes",
        "CREATE TABLE wishes (customer TEXT, thing TEXT);\n",
        "CREATE TABLE wishes (customer TEXT, thing TEXT, UNIQUE (customer, thing));\n",
        "/wishes",
        """\
    def test_a_thing_is_wished_for_once(self) -> None:
        shop = database()
        shop.execute("INSERT INTO wishes (customer, thing) VALUES ('Ada', 'a lamp')")
        with self.assertRaises(sqlite3.IntegrityError):
            shop.execute("INSERT INTO wishes (customer, thing) VALUES ('Ada', 'a lamp')")
""",
    ),
    "51": ("wishes", "ALTER TABLE wishes ADD COLUMN link TEXT;\n", "", "/shared", ""),
    "52": ("subscribers", "CREATE TABLE subscribers (address TEXT PRIMARY KEY);\n", "", "/newsletter", ""),
}
JOURNEY = """
class Journey(unittest.TestCase):
    def test_a_wish_is_there_the_next_day(self) -> None:
        shop = database()
        shop.execute("INSERT INTO wishes (customer, thing) VALUES ('Ada', 'a lamp')")
        assert shop.execute("SELECT thing FROM wishes").fetchall() == [("a lamp",)]
"""


def main() -> None:
    sys.stdin.read()  # the brief; a model would read it
    table, sql, better, page, contract = WORK[ISSUE]
    test = f"tests/test_issue_{ISSUE}.py"
    contract += f'\n    def test_it_has_a_page(self) -> None:\n        assert "{page}" in ROUTES\n'
    craft.think(1 if ISSUE == "50" else 3)
    save(test, TEST + contract)
    moot("specflow", "write", "Hamilton", f"REQUEST_MIGRATION #{ISSUE} tables:[{table}]")
    migration = mail("MIGRATION_ASSIGNED")["data"]["file"]
    craft.think(1)
    save(migration, sql)
    files = [test, migration, ROUTES]
    if ISSUE == "50":
        save("tests/journey_keep_a_wish.py", TEST.partition("\n\nclass")[0] + "\n" + JOURNEY)
        files.append("tests/journey_keep_a_wish.py")
    announce(ROUTES)
    craft.think(1)
    save(ROUTES, Path(ROUTES).read_text(encoding="utf-8").replace("}", f', "{page}": "issue {ISSUE}"}}'))
    commit(f"#{ISSUE}: {table}", *files)
    run = contracts()
    if not run:  # the answer says which test failed
        craft.think(2)
        save(migration, better)
        commit(f"#{ISSUE}: each thing once", migration)
        run = contracts()
    moot("specflow", "write", "waves-controller", f"READY_FOR_CLOSURE #{ISSUE} {run}")
    moot("task", "complete", f"issue-{ISSUE}")


def announce(path: str) -> None:
    """Tell everybody that this file will change. If another agent holds it, wait for it."""
    if moot("specflow", "broadcast", f"TOUCHING_FILE {path}")["state"] == "held":
        while "granted" not in mail("note")["text"]:
            pass


def contracts() -> str:
    """Have the contract tests run. Returns the run, which is the certificate; empty if they fail."""
    moot("specflow", "write", "Keane", "RUN_CONTRACTS")
    result = mail("CONTRACT_RESULTS")
    return str(result["data"]["run"]) if result["text"] == "CONTRACT_RESULTS PASS" else ""


def mail(kind: str) -> dict[str, Any]:
    """Wait for a message of this kind."""
    while True:
        box = moot("inbox")
        found = [one for one in (*box["new"], *box["waiting"]) if one["type"] == kind]
        for one in found:
            if one["wants"] == "ack":
                moot("ack", one["id"])
            return dict(one)
        moot("wait", "--mail")


def moot(*words: str) -> Any:
    done = subprocess.run(["moot", "--json", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"moot {' '.join(words)}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)["result"]


def save(path: str, text: str) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def commit(message: str, *paths: str) -> None:
    """Commit these files. Only one at a time: all agents of a wave work in one directory."""
    with Path(".gitignore").open(encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        subprocess.run(["git", "add", *paths], check=True)
        subprocess.run(["git", "commit", "--quiet", "--message", message, "--", *paths], check=True)


if __name__ == "__main__":
    main()
