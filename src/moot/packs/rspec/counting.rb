# frozen_string_literal: true

# RSpec's JSON report. Each example also has the number of expectations that were executed while it ran, the summary says
# whether expectations can still fail, and the report has the files below the current directory that were loaded.
require "rspec/core"
require "rspec/core/formatters/json_formatter"

module Moot
  class CountingReport < RSpec::Core::Formatters::JsonFormatter
    RSpec::Core::Formatters.register self, :example_started

    class << self
      attr_accessor :running, :counts, :compiled

      def trace
        self.compiled = []
        TracePoint.new(:script_compiled) { |at| compiled << at.instruction_sequence.path unless at.eval_script }.enable
      rescue StandardError # another Ruby
        self.compiled = nil
      end

      def loaded
        folder = [Dir.pwd, File.realpath(Dir.pwd)].uniq.map { |one| one.chomp("/") + "/" }
        found = $LOADED_FEATURES + compiled + factories
        found.map { |path| File.expand_path(path) }.uniq.select { |path| path.start_with?(*folder) }
      end

      def factories
        return [] unless defined?(FactoryBot) && FactoryBot.respond_to?(:definition_file_paths)

        FactoryBot.definition_file_paths.flat_map { |path| Dir["#{path}.rb"] + Dir["#{path}/**/*.rb"] }
      end

      def install
        return if counts || !defined?(RSpec::Expectations::PositiveExpectationHandler)

        self.counts = Hash.new(0)
        handlers = [RSpec::Expectations::PositiveExpectationHandler, RSpec::Expectations::NegativeExpectationHandler]
        handlers.each { |handler| handler.singleton_class.prepend(Counted) }
        return unless defined?(RSpec::Mocks::AnyInstanceExpectationTarget)

        RSpec::Mocks::AnyInstanceExpectationTarget.prepend(CountedForAnyInstance)
      end
    end

    module Counted
      def handle_matcher(*)
        CountingReport.counts[CountingReport.running] += 1
        super
      end
    end

    # `expect_any_instance_of` does not use the handlers.
    module CountedForAnyInstance
      %i[to not_to to_not].each do |name|
        define_method(name) do |*arguments, &block|
          CountingReport.counts[CountingReport.running] += 1
          super(*arguments, &block)
        end
      end
    end

    def example_started(notification)
      self.class.install
      self.class.running = notification.example.id
    end

    def dump_summary(summary)
      super
      output_hash[:summary][:expectations_can_fail] = can_fail? if self.class.counts
    end

    def close(notification)
      @output_hash[:loaded] = self.class.loaded if self.class.compiled
      super
    end

    private

    # Whether an expectation that does not hold still fails, whatever the specs have changed.
    def can_fail?
      RSpec::Expectations::ExpectationTarget.for(1, nil).to(RSpec::Matchers::BuiltIn::Eq.new(2))
      false
    rescue RSpec::Expectations::ExpectationNotMetError
      true
    end

    def format_example(example)
      counts = self.class.counts
      counts ? super.merge(:expectations => counts[example.id]) : super
    end
  end

  CountingReport.trace
end
