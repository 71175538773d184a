RSpec.describe("a") { it("b") {} }
