"""The command of the gates: runs tests of the shop, and writes a report: `python check.py REPORT [FILE…]`.

It runs the files that are named; without any, the tests of the issue that the gate is for; else all tests.
"""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

sys.path[:0] = ["src", "tests"]


SUITE = ET.Element("testsuite")


class Reported(unittest.TestResult):
    """Results that are written down as JUnit XML."""

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 (a method of unittest)
        super().startTest(test)
        file, _, name = test.id().rpartition(".")
        ET.SubElement(SUITE, "testcase", name=name, file=f"tests/{file.partition('.')[0]}.py")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        ET.SubElement(SUITE[-1], "failure").text = self.failures[-1][1]

    addError = addFailure  # noqa: N815


def main(report: str, *files: str) -> bool:
    names = [Path(file).stem for file in files]
    if not names and (issue := os.environ.get("ISSUE_NUMBER")):
        names = [f"test_issue_{issue}"]
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(names) if names else loader.discover("tests")
    result = Reported()
    tests.run(result)
    os.makedirs(os.path.dirname(report), exist_ok=True)
    ET.ElementTree(SUITE).write(report)
    print(result, *(text for _, text in result.failures))
    return result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
