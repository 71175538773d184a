const assert = require("assert");
it("at the root", () => assert.equal(1, 2));
describe("Sums", () => {
  it("is right", () => {});
  it("is wrong", () => {
    console.log("  1) printed");
    throw new RangeError("too far");
  });
});
