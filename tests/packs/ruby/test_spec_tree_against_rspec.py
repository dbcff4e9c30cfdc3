"""The tree of a spec file, compared with the examples that RSpec itself runs."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from moot.packs.ruby.spec_tree import parse_spec

SPEC = """\
# frozen_string_literal: true

RSpec.describe String, :slow do
  subject(:text) { described_class.new(value) }

  let(:value) { 'it "is text" do' }

  # it 'is a comment' do
  #   expect(1).to eq(1)
  # end
  it { is_expected.to eq(value) }
  its_text = 'not an example'

  describe '#upcase' do
    context "when \\"quoted\\" \\#{x}" do
      it 'works' do
        expect(text.upcase).to start_with('I')
      end
      it('is short') { expect(its_text).to be_a(described_class) }
      specify 'by another word' do
        expect { text.upcase }.not_to raise_error
      end
      example('too') { expect(text).to(eq(value)) }
    end

    context 'with a heredoc' do
      let(:value) { <<~TEXT }
        it 'is text, too' do
          context 'so' do
      TEXT
      it %q(has (nested) brackets) do
        expect(text).to include('context')
      end
    end

    xcontext 'when off' do
      it('inherits') { expect(1).to eq(2) }
    end

    context 'when skipped', skip: 'later' do
      it('inherits, too') { expect(1).to eq(2) }
    end

    context 'with a hook' do
      before { skip 'not now' }

      it('is skipped by the hook') { expect(1).to eq(2) }
    end

    xit('is off') { expect(1).to eq(2) }
    it('is skipped inside') { skip 'so' }
    it 'has no block'
    it('has metadata', :skip) { expect(1).to eq(2) }
    it('has none', skip: false) { expect(1).to eq(1) }
    pending('is expected to fail') { expect(1).to eq(2) }
    skip('is skipped') { expect(1).to eq(2) }
    it('is pending inside') do
      pending 'a reason'
      expect(1).to eq(2)
    end
  end
end
"""


@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_examples_lines_and_pending_ones_are_those_that_rspec_reports(tmp_path):
    (tmp_path / "a_spec.rb").write_text(SPEC)
    run = subprocess.run(
        ["rspec", "--format", "json", "--order", "defined", "a_spec.rb"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    reported = json.loads(run.stdout.splitlines()[0])["examples"]
    assert {one["status"] for one in reported} == {"passed", "pending"}, run.stdout
    theirs = sorted((one["line_number"], one["status"] == "pending") for one in reported)
    ours = sorted((one.line, bool(one.pending)) for one in parse_spec(SPEC.encode()).examples())
    assert ours == theirs
    texts = {one["line_number"]: one["description"] for one in reported}
    for one in parse_spec(SPEC.encode()).examples():
        assert one.text in {None, texts[one.line]}


NEVER = """\
RSpec.describe String do
  context('when on', if: 1) { it('runs') { expect('a').to eq('a') } }
  context('when off', if: false) { it('never runs') { expect(1).to eq(2) } }
  it('is off', unless: true) { expect(1).to eq(2) }
  it('is off, too', if: nil) { expect(1).to eq(2) }
  it('is on', unless: nil) { expect('a').to eq('a') }

  context 'when left' do
    it('is before') { expect('a').to eq('a') }
    next
    it('is behind') { expect(1).to eq(2) }
  end
end
"""


@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_examples_that_rspec_never_defines_or_filters_say_so(tmp_path):
    (tmp_path / "a_spec.rb").write_text(NEVER)
    command = ["rspec", "--format", "json", "a_spec.rb"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    theirs = sorted(one["line_number"] for one in json.loads(run.stdout.splitlines()[-1])["examples"])
    assert theirs == [one.line for one in parse_spec(NEVER.encode()).examples() if not one.pending]
