# frozen_string_literal: true

# Reads file names from standard input, one per line. Prints one JSON line per file: what Ripper, Ruby's own parser,
# finds in it. `defs` has the name and the first line of every `def`; a file that Ripper refuses has `ok: false`.

require "json"
require "ripper"

class Definitions < Ripper
  attr_reader :found

  def initialize(...)
    super
    @found = []
    @lines = []
  end

  # The tokens of a `def` come before its node is built, so the line is that of the name.
  def on_ident(text) = [text, lineno]
  alias on_const on_ident
  alias on_kw on_ident
  alias on_op on_ident
  alias on_backtick on_ident

  def on_def(name, *) = @found << name
  def on_defs(_object, _dot, name, *) = @found << name
end

$stdout.sync = true
$stdin.each_line(chomp: true) do |path|
  parser = Definitions.new(File.binread(path).force_encoding("UTF-8"), path)
  parser.parse
  ok = !parser.error?
  defs = parser.found.map { |name, line| [name.to_s.dup.force_encoding("UTF-8").scrub, line] }
  puts JSON.generate(path: path, ok: ok, defs: ok ? defs.sort_by { |name, line| [line, name] } : [])
rescue StandardError => e
  puts JSON.generate(path: path, ok: false, defs: [], error: e.class.name)
end
