# frozen_string_literal: true

# Reads file names from standard input and parses each with Ripper, Ruby's own parser. Prints the seconds that took,
# without the start of Ruby and without reading the files.

require "ripper"

sources = $stdin.each_line(chomp: true).map { |path| File.binread(path).force_encoding("UTF-8") }
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
sources.each { |source| Ripper.sexp(source) }
puts Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
