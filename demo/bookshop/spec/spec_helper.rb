# frozen_string_literal: true

require "factory_bot"

%w[models services].each do |folder|
  Dir[File.expand_path("../app/#{folder}/*.rb", __dir__)].each { |file| require file }
end

RSpec.configure do |config|
  config.include FactoryBot::Syntax::Methods
  config.before(:suite) { FactoryBot.find_definitions }
end
