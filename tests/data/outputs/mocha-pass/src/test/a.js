it("good", () => {});
