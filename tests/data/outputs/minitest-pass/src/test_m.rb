require "minitest/autorun"
class T < Minitest::Test
  def test_a
    assert true
  end
end
