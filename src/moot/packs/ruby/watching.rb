# frozen_string_literal: true

# What happens while an example runs: how many expectations are executed, whether they can fail, whether the spec has
# replaced methods of RSpec, whether a failure was taken back, and which definitions of the tested method exist and run.
#
# The tested method is that of the outermost group whose text begins with `#` or `.`: `describe "#pay"`. It is looked at
# inside all hooks of the example, at each expectation, and at the end.
module Moot
  class << self
    def folders
      @folders ||= [Dir.pwd, File.realpath(Dir.pwd)].uniq.map { |one| "#{one.chomp('/')}/" }
    end

    def inside?(path)
      path.start_with?(*folders)
    end

    # A place as [path, line]. The path is relative to the current directory if it is below it.
    def place(location)
      path, line = location
      folder = folders.find { |one| path.start_with?(one) }
      [folder ? path.delete_prefix(folder) : path, line]
    end
  end

  # Tries whether an expectation that does not hold still fails, whatever the specs have changed.
  module Canary
    Failed = Class.new(StandardError)

    class << self
      attr_reader :singing

      def there?
        defined?(RSpec::Expectations::PositiveExpectationHandler) && RSpec::Support.respond_to?(:with_failure_notifier)
      end

      # Failures of the canary do not reach `aggregate_failures`, which would count them.
      def can_fail?
        @singing = true
        RSpec::Support.with_failure_notifier(->(*) { raise Failed }) do
          RSpec::Expectations::ExpectationTarget.for(1, nil).to(RSpec::Matchers::BuiltIn::Eq.new(2))
        end
        false
      rescue Failed
        reported?(RSpec::Support.failure_notifier)
      rescue Exception # rubocop:disable Lint/RescueException
        false
      ensure
        @singing = false
      end

      private

      # Whether what gets the failures now is RSpec's own.
      def reported?(notifier)
        place = notifier.respond_to?(:source_location) ? notifier : notifier.method(:call)
        !Changes.foreign?(place.source_location)
      end
    end
  end

  # Methods of RSpec that the specs have replaced.
  module Changes
    NAMESPACES = %w[Expectations Matchers::BuiltIn].freeze
    CLASSES = %w[Core::Example Core::Example::ExecutionResult Core::Reporter Mocks Mocks::MessageExpectation Mocks::Proxy
                 Mocks::Space Support].freeze
    WORDS = %i[expect eq eql equal be be_truthy be_falsey be_nil be_a raise_error change match include contain_exactly
               match_array satisfy have_attributes].freeze

    class << self
      # The replaced methods, each with its name and place.
      def found
        changed = table.map do |owner, name, title, was|
          now = location(owner, name)
          [title, *(now && Moot.place(now))] if now != was && (now.nil? || foreign?(now))
        end
        changed.compact
      end

      # The methods as they are when the first example begins; no place is known of one that is already replaced.
      def table
        @table ||= begin
          entries = owners.flat_map { |owner, title, sign| names(owner).map { |name| [owner, name, title + sign] } }
          entries += WORDS.map { |name| [RSpec::Matchers, name, "RSpec::Matchers#"] } if defined?(RSpec::Matchers)
          entries.map do |owner, name, title|
            was = location(owner, name)
            [owner, name, "#{title}#{name}", (was unless foreign?(was))]
          end
        end
      end

      def foreign?(location)
        return false if location.nil?

        written?(location) || location.first.start_with?("(eval")
      end

      # Whether a place is in a file that a stage may have written: a spec that runs, or a factory.
      def written?(location)
        return false if location.nil?

        @written ||= RSpec.configuration.files_to_run.map { |one| File.expand_path(one) } +
                     CountingReport.factories.map { |one| File.expand_path(one) }
        @written.any? { |path| location.first == path || location.first.include?("at #{path}:") }
      end

      private

      def owners
        roots = (NAMESPACES + CLASSES).map { |name| constant(name) }.compact
        modules = roots + NAMESPACES.map { |name| constant(name) }.compact.flat_map { |one| below(one) }
        modules.uniq.flat_map { |one| [[one, one.name, "#"], [one.singleton_class, one.name, "."]] }
      end

      def constant(name)
        name.split("::").reduce(RSpec) { |at, part| at.const_defined?(part, false) ? at.const_get(part, false) : (return) }
      end

      def below(root)
        inner = root.constants(false).map { |name| part(root, name) }
        inner = inner.select { |one| one.is_a?(Module) && one.name.to_s.start_with?("#{root.name}::") }
        inner.flat_map { |one| [one, *below(one)] }
      end

      # A constant, which may have to be loaded first.
      def part(root, name)
        root.const_get(name, false)
      rescue LoadError, NameError
        nil
      end

      def names(owner)
        owner.instance_methods(false) + owner.private_instance_methods(false)
      end

      def location(owner, name)
        owner.instance_method(name).source_location
      rescue NameError
        nil
      end
    end
  end

  # The method that a group is about. Calls of its definitions are noted while the examples run.
  class TestedMethod
    class << self
      def of(group)
        groups = group.parent_groups
        block = groups.reverse.find { |one| one.metadata[:description_args].first.to_s.match?(/\A[#.]./) }
        return unless block

        owner, text = block.described_class, block.metadata[:description_args].first.to_s
        owner = named(groups.last) unless owner.is_a?(Module)
        known[[owner, text]] ||= new(owner, text) if owner.is_a?(Module)
      end

      def known
        @known ||= {}
      end

      private

      def named(group)
        Object.const_get(group.metadata[:description_args].first.to_s)
      rescue NameError
        nil
      end
    end

    attr_reader :name, :outside

    def initialize(owner, text)
      @owner = text.start_with?("#") ? owner : owner.singleton_class
      @name = text[1..].to_sym
      @traced = {}
      @outside = []
    end

    # The place of the definition that is in effect now; nil if there is none, or Ruby does not know its place.
    def now
      method = definition
      trace(method)
      location = method&.source_location
      location && Moot.place(location)
    end

    def traceable?
      @traced.values.first || false
    end

    private

    def definition
      Module.instance_method(:instance_method).bind(@owner).call(@name)
    rescue NameError
      nil
    end

    # Note the calls of a definition, and of those that it may call with `super`.
    def trace(method)
      while method
        key = [method.owner, method.source_location]
        @traced[key] = traced?(method, method.source_location) unless @traced.key?(key)
        method = method.super_method
      end
    end

    def traced?(method, location)
      return false unless location

      place = Moot.place(location)
      TracePoint.new(:call) { Watch.called(self, place) }.enable(:target => method)
      true
    rescue StandardError # it is not written in Ruby, or this is another Ruby
      false
    end
  end

  # What was seen of the examples.
  module Watch
    Seen = Struct.new(:expectations, :can_fail, :changed, :failed, :method, :defined, :called, :replied)

    class << self
      # Calls are noted from here on: a hook of an outer group may call what its inner groups are about.
      def group(group)
        group.descendants.each { |one| TestedMethod.of(one)&.now } if group.top_level?
      end

      def started(example)
        install
        @running = all[example.id] = Seen.new(0, true, [], false, TestedMethod.of(example.example_group), [], [], false)
        @running.defined |= [@running.method.now].compact if @running.method
      end

      def finished
        @running = nil
      end

      # Look around, inside all hooks of the example that runs.
      def look(whole: false)
        return if @running.nil? || Canary.singing

        @running.can_fail &&= Canary.can_fail? if Canary.there?
        @running.changed |= Changes.found if whole
        @running.defined |= [@running.method.now].compact if @running.method
      end

      def expectation
        return if Canary.singing

        @running.expectations += 1 if @running
        look
      end

      def tried
        @running.failed = false if @running
      end

      def failed
        @running.failed = true if @running
      end

      def called(method, place)
        if @running.nil?
          method.outside << place unless method.outside.include?(place)
        elsif @running.method.equal?(method)
          @running.called << place unless @running.called.include?(place)
        end
      end

      def replied(message)
        @running.replied = true if @running&.method && @running.method.name == message.to_sym
      end

      # What is known of an example, for its report.
      def seen(example)
        one = all[example.id]
        return {} if one.nil? || !@installed

        counted = Canary.there? ? { :expectations => one.expectations, :can_fail => one.can_fail } : {}
        cleared = one.failed && example.execution_result.status == :passed
        { **counted, :changed => one.changed, :cleared => cleared, **method(one) }
      end

      private

      def method(one)
        return {} if one.method.nil? || !one.method.traceable?

        tested = { :name => one.method.name, :defined => one.defined, :called => one.called, :replied => one.replied }
        { :tested => { **tested, :outside => one.method.outside } }
      end

      def all
        @all ||= {}
      end

      def install
        return if @installed

        @installed = true
        RSpec::Core::Example.prepend(Inside)
        expectations if Canary.there?
        doubles if defined?(RSpec::Mocks::Proxy)
        Changes.table
      end

      def doubles
        RSpec::Mocks::AnyInstanceExpectationTarget.prepend(ForAnyInstance)
        RSpec::Mocks::Proxy.prepend(Replies)
      end

      def expectations
        handlers = [RSpec::Expectations::PositiveExpectationHandler, RSpec::Expectations::NegativeExpectationHandler]
        handlers.each { |handler| handler.singleton_class.prepend(Counted) }
      end
    end

    # Inside all hooks of an example, and before its `after` hooks.
    module Inside
      def set_exception(*)
        Watch.failed
        super
      end

      private

      def run_before_example
        Watch.tried
        super
        Watch.look(:whole => true)
      end

      def run_after_example
        Watch.look(:whole => true)
        super
      end
    end

    module Counted
      def handle_matcher(*)
        Watch.expectation
        super
      end
    end

    # `expect_any_instance_of` does not use the handlers.
    module ForAnyInstance
      %i[to not_to to_not].each do |name|
        define_method(name) do |*arguments, &block|
          Watch.expectation
          super(*arguments, &block)
        end
      end
    end

    # Stubs and doubles that were called.
    module Replies
      def message_received(message, *arguments, &block)
        Watch.replied(message)
        super(message, *arguments, &block)
      end
      ruby2_keywords(:message_received) if respond_to?(:ruby2_keywords, true)
    end
  end
end
