# frozen_string_literal: true

# A book in the shop.
class Book
  attr_accessor :title, :price, :stock

  def initialize(title: "", price: 0, stock: 0)
    @title = title
    @price = price
    @stock = stock
  end

  def sell(copies)
    raise ArgumentError, "not enough copies" if stock < copies

    @stock = stock - copies
  end
end
