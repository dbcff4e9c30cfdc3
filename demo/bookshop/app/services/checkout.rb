# frozen_string_literal: true

# Sells copies of a book to a customer.
class Checkout
  def initialize(customer, book)
    @customer = customer
    @book = book
  end

  def total(copies)
    return 0 if copies.zero?

    Checkout.reduced(@book.price * copies, @customer.discount)
  end

  def self.reduced(amount, percent)
    amount * (100 - percent) / 100
  end
end
