# frozen_string_literal: true

require "factory_bot"

Dir[File.expand_path("../app/**/*.rb", __dir__)].sort.each { |file| require file }

RSpec.configure do |config|
  config.include FactoryBot::Syntax::Methods
  config.before(:suite) { FactoryBot.find_definitions }
end
