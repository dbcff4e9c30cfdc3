"""The answer of an agent is the last YAML block of its output. What it quoted before never counts."""

from __future__ import annotations

import pytest

from moot.api.protocol.strict_yaml import TornYaml, load_mapping
from moot.api.protocol.yaml_blocks import WINDOW, YamlBlock, last_block

F = "```"
QUOTED = f"The prompt says:\n\n{F}yaml\nstatus: success\n{F}\n\n"

FOUND = [
    ("status: success\n", "status: success\n", 1),
    (f"Done.\n\n{F}yaml\nstatus: error\nerror: it broke\n{F}\nBye.\n", "status: error\nerror: it broke\n", 4),
    (f"{QUOTED}{F}yml\nstatus: error\n{F}\n", "status: error\n", 8),
    (f"{QUOTED}{F}\nstatus: error\n{F}\n", "status: error\n", 8),
    (f"{QUOTED}{F}text\nstatus: error\n{F}\n", "status: error\n", 8),
    (f'{QUOTED}{F}json\n{{"status": "error"}}\n{F}\n', '{"status": "error"}\n', 8),
    (f"{QUOTED}~~~yaml\nstatus: error\n~~~\n", "status: error\n", 8),
    (f"{QUOTED}{F}yaml\nstatus: error\n", "status: error\n", 8),
    (f"{QUOTED}status: error\nwarnings:\n- a\n\nThat is all.\n", "status: error\nwarnings:\n- a\n\n", 7),
    (f"{QUOTED}status: error\n\n{F}ruby\nputs 1\n{F}\n", "status: error\n\n", 7),
    ("Sample: \nstatus: success\n\nMine:\nstatus: error\n", "status: error\n", 5),
    ("status: success\n\nstatus: error\n\nwarnings: []\n", "status: error\n\nwarnings: []\n", 3),
    (f"1. Answer:\n   {F}yaml\n   a:\n     b: 1\n   {F}\n", "a:\n  b: 1\n", 3),
    (f"{F}yaml\nstatus: success\r\ncode: |\n  {F}ruby\n  x\n  {F}\n{F}\n", None, 2),
    (f"````md\n{QUOTED}````\n\n{F}yaml\nstatus: error\n{F}\n", "status: error\n", 11),
    (f"{F}\nfirst line was cut off\n{F}\n{QUOTED}", "status: success\n", 7),
]


@pytest.mark.proves("S2-RESP-03")
@pytest.mark.proves("S1-ENG-03")
@pytest.mark.parametrize(("output", "text", "line"), FOUND)
def test_the_last_block_is_found_fenced_or_bare(output, text, line):
    block = last_block(output)
    assert block is not None
    assert block.line == line
    if text is not None:
        assert block.text == text
    load_mapping(block.text.encode())


@pytest.mark.proves("S2-RESP-03")
@pytest.mark.proves("S1-ENG-03")
@pytest.mark.parametrize(
    "end",
    [
        f"{F}yaml\nstatus: [\n{F}\n",
        f"{F}\nstatus: success: no\n{F}\n",
        f"{F}yaml\nresult: success\n{F}\n",
        f"{F}yaml\n{F}\n",
        "status: error\nstatus: success\n",
        "done: everything is well\n",
        f"{F}yaml\nstatus: success\n---\nstatus: error\n",
    ],
)
def test_a_quoted_answer_before_a_bad_one_never_counts(end):
    block = last_block(QUOTED + end)
    assert block is not None
    assert block.line > QUOTED.count("\n")
    try:
        assert load_mapping(block.text.encode()).get("status") != "success"
    except TornYaml:
        pass


@pytest.mark.parametrize(
    "output", ["", "All done.\n", f"{F}ruby\nputs 1\n{F}\n", "Note: the status is success\n", "# a\n- b\n"]
)
def test_without_a_block_there_is_no_answer(output):
    assert last_block(output) is None


@pytest.mark.proves("S2-RESP-03")
def test_only_the_end_of_a_very_long_output_is_read():
    long = QUOTED + "a line of a log\n" * 3_500_000
    assert len(long) > 50_000_000
    assert last_block(long) is None
    assert last_block(f"{long}\nstatus: error\n") == YamlBlock("status: error\n", long.count("\n") + 2, fenced=False)
    assert last_block("status: success\n" + "warning_0: x\n" * (WINDOW // 10)) is None  # its start was cut off
