require "./nowhere"
RSpec.describe("a") { it("b") {} }
