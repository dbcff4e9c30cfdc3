"""Date-times: what is one, what is none, and which moment it names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.timestamps import is_date_time, parse

RFC_3339 = jsonschema_rs.Draft202012Validator({"format": "date-time"}, validate_formats=True)

moments = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))  # noqa: DTZ001 (the offset is added)
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moments, offsets, st.sampled_from("Tt "))
def test_what_python_writes_is_read_as_the_same_moment(moment, offset, separator):
    moment = moment.replace(tzinfo=offset)
    assert parse(moment.isoformat(separator)) == pytest.approx(moment.timestamp(), abs=1e-4)


@given(moments)
def test_a_value_without_an_offset_is_utc(moment):
    assert parse(moment.isoformat()) == pytest.approx(moment.replace(tzinfo=UTC).timestamp(), abs=1e-4)


@st.composite
def nearly_rfc_3339(draw) -> str:
    """The full form with an offset, its numbers right or wrong, one character of it perhaps spoiled."""

    def number(most: int, width: int = 2) -> str:
        return f"{draw(st.one_of(st.integers(0, most), st.sampled_from([0, 1, most, most + 1]))):0{width}}"

    text = f"{number(9999, 4)}-{number(12)}-{number(31)}T{number(23)}:{number(59)}:{number(60)}"
    text += draw(st.sampled_from(["", ".0", ".123", ".", ".1234567890123"]))
    text += draw(st.sampled_from(["Z", "z", f"+{number(23)}:{number(59)}", f"-{number(23)}:{number(59)}"]))
    if draw(st.booleans()):
        return text
    at = draw(st.integers(0, len(text) - 1))
    return text[:at] + draw(st.sampled_from("x٣/:Z")) + text[at + 1 :]


@given(nearly_rfc_3339())
def test_the_full_form_is_judged_as_a_validator_judges_it(text):
    assert is_date_time(text) == RFC_3339.is_valid(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.5Z", -0.5),
        ("2024-01-01T00:00:00.000Z", 1704067200),
        ("2024-02-29T12:00:00+01:00", 1709204400),
        ("2024-01-01T00:00:00-00:00", 1704067200),
        ("2024-01-01T01:00+01", 1704067200),
        ("2024-01-01T01:00:00,25+0100", 1704067200.25),
        ("2016-12-31T23:59:60Z", 1483228800),
        ("2017-01-01T00:59:60+01:00", 1483228800),
        ("0000-02-29T00:00:00Z", -62162121600),
    ],
)
def test_a_date_time_names_its_moment(text, seconds):
    assert parse(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2024-01-01",
        "2024-01-01T",
        "2024-01-01T00",
        "2024-01-01T00:00:",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00ZZ",
        "2024-01-01T00:00:00+",
        "2024-01-01T00:00:00+1",
        "2024-01-01T00:00:00+01:",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+01:60",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:61Z",
        "2024-01-01T00:00:60Z",
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z",
        "2024-01-00T00:00:00Z",
        "2024-1-1T00:00:00Z",
        "20240101T000000Z",
        "2024-W01-1T00:00:00Z",
        "2024-01-01  00:00:00Z",
        " 2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00Z\n",
        "２０２４-01-01T00:00:00Z",
        "2024-01-01T00:00:00.١Z",
        "1704067200",
    ],
)
def test_other_text_is_no_date_time(text):
    assert parse(text) is None


@given(st.text())
def test_any_text_is_answered(text):
    assert is_date_time(text) == (parse(text) is not None)


def test_a_fraction_of_any_length_is_read():
    assert parse("1970-01-01T00:00:00." + "9" * 100_000 + "Z") == pytest.approx(1)
