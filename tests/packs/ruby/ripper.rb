# frozen_string_literal: true

# Reads file names from standard input, one per line. Prints one JSON line per file: what Ripper, Ruby's own parser,
# finds in it. `defs` has, for every `def`, its name, the line of the name, and the number of conditionals in its body,
# without those of definitions inside it. A file that Ripper refuses has `ok: false`.
#
# With the argument `syntax`, it reads a JSON list of texts instead, and prints the numbers of those that Ruby refuses.

require "json"
require "ripper"

CONDITIONALS = %i[if unless if_mod unless_mod ifop case].freeze
SCOPES = %i[class module sclass].freeze

# `x in pattern` and `x => pattern` are a `case` without bodies.
def one_line_pattern?(node)
  node[0] == :case && node[2].is_a?(Array) && node[2][0] == :in && node[2][2].nil?
end

def definitions(tree)
  found = []
  stack = [[tree, nil]]
  until stack.empty?
    node, inside = stack.pop
    case node[0]
    when :def, :defs
      name = node[0] == :def ? node[1] : node[3]
      found << (inside = [name[1], name[2][0], 0])
    when *SCOPES
      inside = nil
    when *CONDITIONALS
      inside[2] += 1 if inside && !one_line_pattern?(node)
    end
    node.each { |child| stack << [child, inside] if child.is_a?(Array) }
  end
  found.sort_by { |name, line, _| [line, name] }
end

if ARGV == ["syntax"]
  texts = JSON.parse($stdin.read)
  refused = texts.each_index.reject do |number|
    RubyVM::InstructionSequence.compile(texts[number])
  rescue SyntaxError
    false
  end
  puts JSON.generate(refused)
else
  $stdin.each_line(chomp: true) do |path|
    tree = Ripper.sexp(File.binread(path).force_encoding("UTF-8"))
    defs = tree ? definitions(tree).map { |name, *rest| [name.dup.force_encoding("UTF-8").scrub, *rest] } : []
    puts JSON.generate(path: path, ok: !tree.nil?, defs: defs)
  end
end
