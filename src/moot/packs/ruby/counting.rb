# frozen_string_literal: true

# RSpec's JSON report. Each example also has what was observed while it ran (see watching.rb), the summary says whether
# expectations can still fail, and the report has the files below the current directory that were loaded.
require "rspec/core"
require "rspec/core/formatters/json_formatter"
require_relative "watching"

module Moot
  class CountingReport < RSpec::Core::Formatters::JsonFormatter
    RSpec::Core::Formatters.register self, :example_group_started, :example_started, :example_finished

    class << self
      attr_accessor :compiled

      def trace
        self.compiled = []
        TracePoint.new(:script_compiled) { |at| compiled << at.instruction_sequence.path unless at.eval_script }.enable
      rescue StandardError # another Ruby
        self.compiled = nil
      end

      def loaded
        found = $LOADED_FEATURES + compiled + factories
        found.map { |path| File.expand_path(path) }.uniq.select { |path| Moot.inside?(path) && utf8?(path) }
      end

      def utf8?(path) # JSON has no other names
        path.dup.force_encoding(Encoding::UTF_8).valid_encoding?
      end

      def factories
        return [] unless defined?(FactoryBot) && FactoryBot.respond_to?(:definition_file_paths)

        FactoryBot.definition_file_paths.flat_map { |path| Dir["#{path}.rb"] + Dir["#{path}/**/*.rb"] }
      end
    end

    def example_group_started(notification)
      Watch.group(notification.group)
    end

    def example_started(notification)
      Watch.started(notification.example)
    end

    def example_finished(_notification)
      Watch.finished
    end

    def dump_summary(summary)
      super
      output_hash[:summary][:expectations_can_fail] = Canary.can_fail? if Canary.there?
    end

    def close(notification)
      @output_hash[:loaded] = self.class.loaded if self.class.compiled
      super
    end

    private

    def format_example(example)
      super.merge(Watch.seen(example))
    end
  end

  CountingReport.trace
end
