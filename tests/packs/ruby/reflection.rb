# frozen_string_literal: true

# Loads the libraries named on the command line, then prints as JSON where Ruby found each method of every class, and
# what Ruby knows about it: file, line, class, kind, name, visibility. The methods of Module are called unbound, because
# classes may have methods of the same names.

require "json"

ARGV.each do |name|
  require name
rescue LoadError
  next
end

def asked(receiver, method, *rest) = Module.instance_method(method).bind_call(receiver, *rest)

found = []
ObjectSpace.each_object(Module) do |one|
  name = asked(one, :name)
  next if name.nil? || asked(one, :singleton_class?)

  [[one, "instance"], [asked(one, :singleton_class), "class"]].each do |owner, kind|
    %w[public protected private].each do |visibility|
      asked(owner, "#{visibility}_instance_methods", false).each do |method|
        body = asked(owner, :instance_method, method)
        file, line = body.source_location
        next unless file && body.original_name == method && body.owner == owner && File.file?(file)

        found << [File.realpath(file), line, name, kind, method.to_s, visibility]
      end
    end
  end
end
puts JSON.generate(found)
