"""Plans in Markdown: which lines are tasks, what belongs to them, and what is wrong, with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.task.plan import ITEM_LIMIT, CheckBox, edges, parse

PLAN = """\
# Title

Some words.

- [ ] Build it
  In two lines,
  and a list:

  - one
  - two
  * [x] Choose a tool
  - [ ] Test it
    needs: Write it

    More.
  The end of build it.
1. [ ] Write it
- plain

      - [ ] nested below nothing
"""


def of(text: str, known: tuple[str, ...] = ()) -> tuple[list[CheckBox], list[list[int | str]], list[str]]:
    items, defects = parse(text)
    needs, more = edges(items, lambda name: name in known)
    return items, needs, [f"{d.line}: {d.problem}" for d in sorted((*defects, *more), key=lambda d: d.line)]


def test_check_boxes_are_items_with_what_is_indented_below_them() -> None:
    items, needs, defects = of(PLAN)
    assert defects == []
    assert [(i.line, i.title, i.done, i.above) for i in items] == [
        (5, "Build it", False, None),
        (11, "Choose a tool", True, 0),
        (12, "Test it", False, 0),
        (17, "Write it", False, None),
        (20, "nested below nothing", False, None),
    ]
    assert items[0].body == "In two lines,\nand a list:\n\n- one\n- two\nThe end of build it."
    assert items[2].body == "More."
    assert items[2].path == ("Build it", "Test it")
    assert needs == [[1, 2], [], [3], [], []]


@pytest.mark.parametrize(
    "text", ["", "# Only\n\nwords\n", "- [link](x)\n- [ref]: x\n- a [ ] b\n", "```\n- [ ] a\n```\n"]
)
def test_other_text_is_no_item(text: str) -> None:
    assert of(text) == ([], [], [])


def test_code_blocks_belong_to_the_body_and_have_no_items() -> None:
    items, _, defects = of("- [ ] A\n  ```sh\n  - [ ] no\nneeds: no\n  ```\n- [ ] B\n")
    assert ([i.title for i in items], defects) == (["A", "B"], [])
    assert "- [ ] no" in items[0].body


def test_tabs_and_windows_line_ends_are_understood() -> None:
    items, needs, _ = of("- [ ] A\r\n\t- [ ] B\r\n\t\tbody\r\n")
    assert ([i.title for i in items], items[1].body, needs[0]) == (["A", "B"], "body", [1])


def test_needs_name_titles_with_commas_quoted_titles_and_tasks() -> None:
    text = '- [ ] A\n  needs: Read, write, task-007, "C"\n  Needs: Read, write\n- [ ] Read, write\n- [x] C\n'
    _, needs, defects = of(text, known=("task-007",))
    assert (needs[0], defects) == ([1, "task-007", 2], [])


@pytest.mark.parametrize(
    "line",
    [
        "D needs: C, B",
        "D (needs: C, B)",
        "D, Needs: C, B",
        "D — needs: C,B",
        "D needs: C\n  needs: B",
    ],
)
def test_a_line_can_end_with_what_its_item_needs(line: str) -> None:
    items, needs, defects = of(f"- [ ] B\n- [ ] C\n- [ ] {line}\n")
    assert (items[2].title, needs[2], defects) == ("D", [1, 0], [])


@pytest.mark.parametrize("title", ["D (needs: B) now", "Explain `needs: B`", "Whoneeds: B", "What it needs"])
def test_needs_elsewhere_in_a_line_belong_to_the_title(title: str) -> None:
    items, needs, defects = of(f"- [ ] B\n- [ ] {title}\n")
    assert (items[1].title, needs[1], defects) == (title, [], [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- [] A", "1: [] is neither [ ] (to do) nor [x] (done)"),
        ("\n- [-] A", "2: [-] is neither [ ] (to do) nor [x] (done)"),
        ("- [ ]", "1: the check box has no title"),
        (f"- [ ] {'x' * 501}", "1: the title has more than 500 characters"),
        ("- [ ] A\n- [x] A", "2: “A” is also the title of line 1"),
        ("- [ ] A\nneeds: A", "2: `needs:` is not indented below a check box"),
        ("- [ ] A\n  needs:", "2: `needs:` names nothing"),
        ("- [ ] A needs:", "1: `needs:` names nothing"),
        ("- [ ] A (needs: Z)", "1: there is no check box and no task “Z”"),
        ("- [ ] B\n- [ ] needs: B", "2: the check box has no title"),
        ("- [ ] A\n  needs: Z", "2: there is no check box and no task “Z”"),
        (
            "- [ ] A\n  - [ ] C\n- [ ] B\n  - [ ] C\n  needs: C",
            "5: “C” is the title of several check boxes (lines 2, 4)",
        ),
        ("- [ ] A\n  needs: A", "1: these would wait for each other: “A” (line 1) → “A” (line 1)"),
        (
            "- [ ] A\n  - [ ] B\n    needs: A",
            "2: these would wait for each other: “B” (line 2) → “A” (line 1) → “B” (line 2)",
        ),
        ("```\n- [ ] A", "1: the code block is not closed"),
        (f"- [ ] A\n  needs: {'A,' * 200}", "2: `needs:` has more than 100 names; use several lines"),
    ],
)
def test_a_defect_is_named_with_its_line(text: str, said: str) -> None:
    assert of(text)[2] == [said]


def test_every_defect_is_named() -> None:
    assert [d[:2] for d in of("- [ ] A\n  needs: Z\n- [?] B\n- [ ]\n")[2]] == ["2:", "3:", "4:"]


def test_the_number_of_items_is_limited() -> None:
    text = "".join(f"- [ ] Item {n}\n" for n in range(ITEM_LIMIT + 1))
    assert of(text)[2] == [f"{ITEM_LIMIT + 1}: there are {ITEM_LIMIT + 1} check boxes; the limit is {ITEM_LIMIT}"]


def test_an_item_is_known_by_its_titles_and_not_by_its_line() -> None:
    one, two = of("- [ ] A\n  - [ ] B\n")[0], of("# New\n\n- [x] A\n  text\n\n    - [ ] B\n")[0]
    assert [i.origin("p.md") for i in one] == [i.origin("p.md") for i in two]
    others = {of("- [ ] B\n")[0][0].origin("p.md"), one[1].origin("p.md"), one[1].origin("q.md"), one[0].origin("p.md")}
    assert len(others) == 4


LINES = st.sampled_from(
    [
        "- [ ] A",
        "- [x] B",
        "  - [ ] C",
        "    needs: A",
        "needs: B",
        "```",
        "",
        "text",
        "\t* [ ] A",
        "- []",
        "1) [ ] D, E",
        "- [ ] F needs: A",
        "- [ ] (needs: A)",
    ]
)


@given(st.lists(LINES | st.text(max_size=12), max_size=12))
def test_whatever_the_text_it_is_read_without_an_error_and_lines_are_right(lines: list[str]) -> None:
    text = "\n".join(lines)
    items, needs, _ = of(text)
    source = text.split("\n")
    assert all(item.title in source[item.line - 1].expandtabs(4) for item in items)
    assert len(needs) == len(items)
