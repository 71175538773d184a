const { sum } = require("./sum");
test("adds", () => {
  console.log("Tests:       9 failed, 9 total");
  expect(sum(1, 2)).toBe(3);
});
test("throws", () => {
  expect(() => sum(1, 2)).toThrow("boom");
});
test.skip("later", () => {});
test("good", () => {});
