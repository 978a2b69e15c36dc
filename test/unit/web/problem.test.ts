import { describe, expect, it } from "vitest";
import { Problem, adviceOf, problemFrom, problemOf } from "../../../web/src/pure/problem.ts";
import { allows, refusalOf } from "../../../web/src/pure/role.ts";

describe("dashboard problems", () => {
  it("a problem shows the server's message and the locations it names", () => {
    const body = {
      title: "x",
      detail: "The file cannot be taken in",
      code: "INTAKE",
      problems: [{ where: "line 3", message: "no" }, 4],
    };
    expect(problemOf(400, JSON.stringify(body))).toMatchObject({
      status: 400,
      message: "The file cannot be taken in",
      code: "INTAKE",
      faults: [{ where: "line 3", message: "no" }],
    });
  });

  it.each([
    [401, "The token is missing, invalid or expired."],
    [403, "The role of this token does not allow this."],
    [404, "Not found."],
    [413, "The file is larger than the worker, or a proxy in front of it, accepts."],
    [502, "The worker responded with status 502."],
  ])("a %d response without a message is explained in words", (status, message) => {
    for (const body of ["", "<html>nginx</html>", "[]", "null", '"text"']) {
      expect(problemOf(status, body).message).toBe(message);
    }
  });

  it("a problem distinguishes an unreachable worker from other errors", () => {
    expect(problemFrom(new TypeError("Failed to fetch"))).toMatchObject({
      status: 0,
      message: "The worker is not responding.",
    });
    const own = new Problem(409, "it is over");
    expect(problemFrom(own)).toBe(own);
    expect(problemFrom("odd").message).toBe("odd");
  });
});

describe("roles", () => {
  it("each role may do everything that the lower roles may", () => {
    expect(allows("viewer", "viewer")).toBe(true);
    expect(allows("operator", "admin")).toBe(false);
    expect(refusalOf("admin", "operator")).toBeUndefined();
    expect(refusalOf("viewer", "operator")).toBe("Requires the role operator; yours is viewer.");
  });
});

it("an answer of the platform is not blamed on a proxy or on the token", () => {
  for (const code of ["PLATFORM_REJECTED", "PLATFORM_FORBIDDEN"]) {
    for (const status of [403, 502]) expect(adviceOf({ status, code })).toBeUndefined();
  }
  expect(adviceOf({ status: 502, code: undefined })).toMatch(/proxy/);
});
