class Cart
  def total(items)
    items.sum
  end
end

RSpec.describe Cart do
  it "sums" do
    expect(Cart.new.total([1, 2])).to eq(4)
  end

  it "reads nothing" do
    Cart.new.total(nil)
  end

  it "is good" do
    puts "  1) printed"
  end

  pending "later" do
    raise "no"
  end
end
