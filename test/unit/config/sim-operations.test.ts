import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it, test } from "vitest";
import { loadDeployment } from "#config/deployment.ts";
import type { Problem } from "#core/errors.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const folder = temporaryFolder(afterAll);

const valid = `
    summary: Set a name
    method: PUT
    path: /v1/sims/{simId}/tags/{name}
    group: Sim
    input: { name: { required: true } }
    body: { name: "{name}" }
    statuses: [200]
    sets: { "tags.name": "{name}" }`;

function problemsOf(operations: string): string[] {
  const file = join(folder, "own.yaml");
  const problems: Problem[] = [];
  writeFileSync(file, `extends: soracom\nsimOperations:\n${operations}`);
  loadDeployment(file, problems);
  return problems.map(({ where, message }) => `${where.replace(/^.*simOperations\.?/, "")} ${message}`);
}

it("a platform definition can add SIM operations to the inherited ones and remove one with null", () => {
  const file = join(folder, "own.yaml");
  writeFileSync(file, `extends: soracom\nsimOperations:\n  rename: ${valid}\n  send-sms: null\n  unset-group: null\n`);
  const problems: Problem[] = [];
  const { simOperations } = loadDeployment(file, problems);
  expect(problems).toEqual([]);
  expect(simOperations.get("rename")).toMatchObject({ repeat: "unsafe", danger: "normal", undo: undefined });
  expect([simOperations.has("send-sms"), simOperations.has("set-group")]).toEqual([false, true]);
});

/** What is wrong; the line to add, or the text to replace and its replacement; the problem. */
test.each<[string, string | [from: string, to: string], string]>([
  ["an unknown placeholder in the path", ["{name}\n", "{nane}\n"], "path has {nane}, which is not an input."],
  ["an unknown placeholder in the body", ['name: "{name}" }', 'name: "{nothing}" }'], "body has {nothing}, which"],
  ["an unknown placeholder in sets", ['"tags.name": "{name}"', '"tags.{other}": "{name}"'], "sets.tags.{other}"],
  ["a path that is no SIM's", ["/sims/{simId}", "/sims"], "path must have {simId} or {imsi}"],
  ["a path with a part of a segment", ["{name}\n", "x{name}\n"], "path must be a path that starts with /v1/"],
  ["a path that climbs", ["/v1/sims", "/v1/../sims"], "path must be a path that starts with /v1/"],
  ["an optional input in the path", ["required: true", "required: false"], "input.name.required must be true:"],
  ["a secret in the path", ["required: true", "required: true, secret: true"], "input.name.secret must not be true"],
  ["a filter that cannot be read", 'requires: "status ~ x"', "requires The filter"],
  ["a pattern of a time", ["required: true", 'required: true, type: time, pattern: "[0-9]+"'], "input.name.pattern"],
  [
    "a pattern of a boolean",
    ["required: true", 'required: true, type: boolean, pattern: "true"'],
    "input.name.pattern does not apply to an input of type boolean.",
  ],
  ["a pattern that is none", ["required: true", 'required: true, pattern: "["'], "input.name.pattern must be a"],
  [
    "an undo that names no operation",
    "undo: { operation: set-gruop }",
    "undo.operation There is no operation set-gruop",
  ],
  ["an undo without what it needs", "undo: { operation: set-group }", "undo.set.groupId is missing;"],
  ["an undo of another quota", "undo: { operation: set-bundles, set: { bundles: x } }", "undo.operation must spend"],
  [
    "an undo with a previous value that is none",
    'undo: { operation: set-group, set: { groupId: "{before.groupId}" } }',
    "undo.set names {before.groupId}, which is not among sets",
  ],
  ["an undo of nothing", ['sets: { "tags.name": "{name}" }', "undo: { operation: unset-group }"], "undo needs sets"],
  ["a danger that is none", "danger: deadly", "danger must be `normal`, `costly` or `irreversible`."],
  ["costlyWhen without danger", "costlyWhen: status=standby", "costlyWhen needs danger: costly."],
  ["an unknown key", "summry: x", "summry There is no such key. Did you mean summary?"],
])("a SIM operation with %s is refused", (_, change, problem) => {
  const operation = typeof change === "string" ? `${valid}\n    ${change}` : valid.replace(...change);
  expect(problemsOf(`  rename: ${operation}\n`)).toContainEqual(expect.stringContaining(`rename.${problem}`));
});

it("a built-in SIM operation cannot be described again", () => {
  expect(problemsOf(`  set-speed-class: ${valid}\n`)).toEqual(["set-speed-class is built in and cannot be described."]);
});

it("all problems of SIM operations are reported together", () => {
  const problems = problemsOf(
    `  one: ${valid.replace("{name}\n", "{x}\n")}\n  two: ${valid}\n    undo: { operation: none-such }\n`,
  );
  expect(problems.map((problem) => problem.split(" ")[0])).toEqual(["one.path", "two.undo.operation"]);
});
