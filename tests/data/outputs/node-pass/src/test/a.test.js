require("node:test").test("good", () => {});
