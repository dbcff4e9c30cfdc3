# frozen_string_literal: true

# moot loads this into RSpec, below `Moot::PASS`: real, or what the methods under test return (sentinel, nothing).
# The method under test is that of the outermost group whose text begins with `#` or `.`. See `sentinel.py`.
require "rspec/core"
require "rspec/core/formatters/json_formatter"
require "timeout"

module Moot
  # Equals only itself, is true, answers every message with itself, and says that it responds to none.
  class Sentinel < BasicObject
    { :class => self, :nil? => false, :respond_to? => false }.each { |name, is| define_method(name) { |*| is } }

    def method_missing(*)
      self
    end
  end

  RESULT = PASS == :sentinel ? Sentinel.new : nil
  FAILURES = %w[RSpec::Expectations::ExpectationNotMetError RSpec::Mocks::MockExpectationError].freeze
  QUIET = /::(Change|Receive|HaveReceived|HaveEnqueued|HaveBroadcast)/.freeze # what is not done to others
  Seen = Struct.new(:inside, :expectations, :quiet, :called, :failed) # of an example

  # The group of a method.
  Block = Struct.new(:group, :owner, :name, :defined) do
    def self.of(group)
      found = group.parent_groups.reverse.find { |one| one.metadata[:description_args].first.to_s =~ /\A[#.]\S/ }
      found && (@all ||= {})[found] ||= new(found, *tested(found))
    end

    def self.tested(group)
      sign, name = group.metadata[:description_args].first.match(/\A(.)(\S+)/).captures
      owner = group.described_class if group.described_class.is_a?(Module)
      [sign == "#" ? owner : owner&.singleton_class, name.to_sym]
    end

    # Run the group; in a pass with a replacement, without the method. What is prepended to the class comes before it.
    def during
      found = owner&.instance_method(name) rescue nil
      self.defined = found&.source_location&.then { |path, line| [path.delete_prefix("#{Dir.pwd}/"), line] }
      return yield if owner.nil? || PASS == :real

      place = owner.ancestors.take_while { |one| one != owner }.include?(found&.owner) ? found.owner : owner
      shown = %i[private protected].find { |one| owner.send("#{one}_method_defined?", name) } || :public
      own = found if found&.owner == place
      put(place, shown, own, proc { |*| Moot.called && RESULT }) && yield
    ensure
      put(place, shown, true, own) if place
    end

    def put(place, shown, old, body)
      place.send(:remove_method, name) if old
      place.send(:define_method, name, body) && place.send(shown, name) if body
      true
    end
  end

  class << self
    attr_accessor :seen, :outside

    def called
      seen ? seen.called = true : self.outside = true
    end

    # Whether to look at an expectation: those of hooks are not the example's, except of messages to be received.
    def expects?(matcher, negated)
      kind = matcher.class.name.to_s
      return PASS == :real unless seen && (seen.inside || kind.include?("::Mocks::Matchers::Receive"))

      seen.quiet += 1 if negated && kind.match?(QUIET)
      seen.expectations += 1
    end

    # Hooks, `let` and `subject` may fail without the method; then the example goes on without them.
    def setup
      yield
    rescue StandardError
      PASS == :real ? raise : RESULT
    end

    def failed(error)
      known = error.class.ancestors.any? { |one| FAILURES.include?(one.name) }
      seen.failed = true if seen && (PASS == :real || seen.inside || known)
    end

    def about(example)
      one, block = example.metadata[:moot], Block.of(example.example_group)
      return {} unless one && block

      quiet = one.quiet == one.expectations && (one.called || outside)
      { :line => block.group.metadata[:line_number], :owned => !block.owner.nil?, :defined => block.defined,
        :expectations => one.expectations, :failed => one.failed, :quiet => quiet }
    end
  end

  module Group
    def run(*)
      block = Block.of(self)
      block && block.group == self ? block.during { super } : super
    end
  end

  module Example
    def run(*)
      Moot.seen = metadata[:moot] = Seen.new(false, 0, 0, false, false)
      PASS == :real ? super : Timeout.timeout(LIMIT, RuntimeError) { super }
    ensure
      Moot.seen = nil
    end

    def set_exception(error, *)
      Moot.failed(error)
      super
    end

    def run_before_example
      Moot.seen.failed = false
      super
      Moot.seen.inside = true
    end

    def run_after_example
      Moot.seen.inside = false
      super
    end
  end

  module Setup
    %i[run fetch_or_store].each { |name| define_method(name) { |*given, &block| Moot.setup { super(*given, &block) } } }
  end

  module Handler
    def handle_matcher(*given)
      Moot.expects?(given[1], name.to_s.include?("Negative")) ? super : true
    end
  end

  module AnyInstance
    { :to => false, :not_to => true, :to_not => true }.each do |name, negated|
      define_method(name) { |one, &block| Moot.expects?(one, negated) && super(one, &block) }
    end
  end

  class Report < RSpec::Core::Formatters::JsonFormatter
    RSpec::Core::Formatters.register self, :start

    def start(*)
      super
      memo, inside = RSpec::Core::MemoizedHelpers, RSpec::Expectations
      [memo::ThreadsafeMemoized, memo::NonThreadSafeMemoized, RSpec::Core::Hooks::BeforeHook].each { |one| one.prepend(Setup) }
      [inside::PositiveExpectationHandler, inside::NegativeExpectationHandler].each { |one| one.singleton_class.prepend(Handler) }
      RSpec::Mocks::AnyInstanceExpectationTarget.prepend(AnyInstance) if defined?(RSpec::Mocks)
    end

    def format_example(example)
      super.merge(:moot => Moot.about(example))
    end
  end

  RSpec::Core::ExampleGroup.singleton_class.prepend(Group)
  RSpec::Core::Example.prepend(Example)
end
