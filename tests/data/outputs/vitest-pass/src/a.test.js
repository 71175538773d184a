import { it } from "vitest";
it("good", () => {});
