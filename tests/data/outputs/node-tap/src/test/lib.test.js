const { test, describe, it } = require("node:test");
const assert = require("node:assert");
const { chunk, later } = require("../lib.js");

describe("chunk", () => {
  it("is uneven", () => assert.deepStrictEqual(chunk([1, 2, 3], 2), [[1, 2], [3]]));
  it("is even", () => {
    console.log("not ok 1 - printed by a test");
    assert.deepStrictEqual(chunk([1, 2], 2), [[1, 2]]);
  });
});

test("later resolves", async () => {
  await later();
});
test("to do", { todo: "write me" }, () => assert.strictEqual(1, 2));
test("skipped", { skip: true }, () => {});
test("good", () => {});
