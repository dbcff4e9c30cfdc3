# frozen_string_literal: true

# Somebody who buys books.
class Customer
  attr_accessor :name, :status

  def initialize(name: "", status: "regular")
    @name = name
    @status = status
  end

  def discount
    case status
    when "gold" then 20
    when "blocked" then raise ArgumentError, "the customer is blocked"
    else 0
    end
  end
end
