"""Random cuts and splices of real files: whatever bytes come, there is a result or a clear error."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.core.errors import MootError
from moot.packs.rspec.characteristics import characteristics_of
from moot.packs.rspec_v1.analysis import analyze
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.factories import detect_factories
from moot.packs.ruby.spec_tree import parse_spec
from moot.packs.ruby.syntax import parse
from tests.packs.ruby import foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = b"""\
FactoryBot.define do
  factory(:user, aliases: %i[a b]) { trait(:x) { name { 'y' } } }
end
RSpec.describe A::B, :slow do
  subject(:result) { described_class.new.call(x) }
  context "when \\"x\\" #{y}" do
    before { skip if z }
    it('works', pending: true) { expect { result }.not_to change(A, :count) }
  end
end
class A::B < Struct.new(:a)
  private attr_reader :a, *%i[b c]
  def call(x, y = (z ? 1 : 2), *r, k:, o: nil, **s, &b)
    return <<~TEXT unless x&.ok? || !y
      if #{a ? b : c}
    TEXT
    case x
    in {a: [1, *], b: String => c} if c > 3 then raise E, 'x'
    else (x = y) && z
    end
  rescue E => e then retry if (n += 1) < 3
  end
  private def a = 1
  class << self; define_method(:"b#{1}") { |q| q ? 1 : 2 }; private; def c; end; end
end
__END__
def x
"""


def materials() -> list[bytes]:
    real = [foreign.read(path)[:20_000] for path in foreign.sample(40)[:40]] if foreign.usable() else []
    return [OWN, *(one for one in real if one)]


MATERIALS = materials()


@contextmanager
def clear_errors_only() -> Iterator[None]:
    """Errors of moot's own tree are fine if they say what to do; everything else fails the test."""
    try:
        yield
    except MootError as refused:
        if not (refused.code and refused.remedy):
            raise AssertionError(refused.plain()) from refused


@st.composite
def mangled(draw) -> bytes:
    data = draw(st.sampled_from(MATERIALS))
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        what = draw(st.sampled_from(("cut", "keep", "splice", "insert", "repeat")))
        if what == "cut":
            data = data[:start] + data[min(end, start + 400) :]
        elif what == "keep":
            data = data[start:end] or data
        elif what == "splice":
            other = draw(st.sampled_from(MATERIALS))
            place = draw(st.integers(0, len(other)))
            data = data[:start] + other[place : place + 300] + data[start:]
        elif what == "insert":
            data = data[:start] + draw(st.binary(max_size=8)) + data[start:]
        else:
            data = data[:end] + data[start:end][:300] * 3 + data[end:]
    return data[:40_000]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(mangled())
def test_no_bytes_crash_the_parser_or_the_analysis(data):
    with clear_errors_only():
        check_declarations(data)
    detect_factories({"f.rb": data})


def check_declarations(data: bytes) -> None:
    found = declarations(parse(data))
    for one in found.declared:
        assert 0 <= one.start <= one.end <= len(data)
        assert 1 <= one.first_line <= one.last_line <= data.count(b"\n") + 1
    for one in found.methods:
        with clear_errors_only():
            characteristics_of(one, one.owner)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(mangled())
def test_no_bytes_crash_the_spec_tree(data):
    with clear_errors_only():
        for example in parse_spec(data).examples():
            assert 0 <= example.start <= example.body_start <= example.body_end <= example.end <= len(data)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(mangled(), st.sampled_from(["", "#", "."]), st.integers(0, 50))
def test_asking_for_a_method_of_any_bytes_gives_an_analysis_or_an_error(data, prefix, number):
    names = re.findall(rb"def (?:self\.)?(\w+[?!]?)", data) or [b"missing"]
    name = names[number % len(names)].decode("utf-8", "replace")
    with clear_errors_only():
        assert analyze(data, "lib/a.rb", prefix + name).target["method"] == name


@pytest.mark.parametrize("number", range(min(len(MATERIALS), 12)))
def test_every_prefix_of_a_file_is_read(number):
    data = MATERIALS[number][:1500]
    for end in range(0, len(data), 7):
        declarations(parse(data[:end]))
