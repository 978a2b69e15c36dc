import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderOf, projectDir, runScript } from "./run-script.ts";

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
}

const declarations = `
declare const process: { env: Record<string, string>; exit(code: number): never };
declare const console: { log(text: string): void };
declare const performance: { now(): number };
declare function setTimeout(then: () => void, delayMs: number): void;
declare function setInterval(then: () => void, delayMs: number): void;
declare function setImmediate(then: () => void): void;
`;

/** Lints files with the project's own rules; gives `rule file:line` for each finding, in order. */
async function lint(files: Record<string, string>): Promise<string[]> {
  const folder = await folderOf({
    ".oxlintrc.json": await readFile(join(projectDir, ".oxlintrc.json"), "utf8"),
    "tsconfig.json": JSON.stringify({
      compilerOptions: { strict: true, target: "es2024", types: [] },
      include: ["**/*"],
    }),
    "globals.d.ts": declarations,
    ...files,
  });
  const args = ["--type-aware", "--deny-warnings", "--format=json"];
  const { output } = await runScript("node_modules/oxlint/bin/oxlint", args, folder);
  const { diagnostics } = JSON.parse(output) as { diagnostics: Diagnostic[] };
  return diagnostics.map(({ code, filename, labels }) => `${code} ${filename}:${labels[0]?.span.line}`).toSorted();
}

/** Everything that a module gets from its caller instead of taking it: the clock, timers, chance, the environment, the end. */
const takings = [
  "export const now = Date.now();",
  "export const elapsed = performance.now();",
  "export const chance = Math.random();",
  "export const setting = process.env.HOME;",
  "setTimeout(() => {}, 1);",
  "setInterval(() => {}, 1);",
  "setImmediate(() => {});",
  'console.log("here");',
  "process.exit(1);",
].join("\n");

describe("the lint rules", () => {
  it("lint rules forbid modules direct access to the clock, timers, randomness, the environment, or process exit", async () => {
    const file = "src/store/ledger.ts";
    expect(await lint({ [file]: takings })).toEqual([
      `eslint(no-console) ${file}:8`,
      `eslint(no-restricted-globals) ${file}:5`,
      `eslint(no-restricted-globals) ${file}:6`,
      `eslint(no-restricted-globals) ${file}:7`,
      `eslint(no-restricted-properties) ${file}:1`,
      `eslint(no-restricted-properties) ${file}:2`,
      `eslint(no-restricted-properties) ${file}:3`,
      `eslint(no-restricted-properties) ${file}:9`,
      `node(no-process-env) ${file}:4`,
    ]);
  });

  it("lint rules allow entry points and dedicated modules to access the clock, timers, or the environment", async () => {
    const files = {
      "src/cli.ts": takings,
      "src/worker.ts": takings,
      "src/config/load.ts": "export const setting = process.env.HOME;",
      "src/core/time.ts": "export const now = Date.now();\nsetTimeout(() => {}, 1);",
      "src/core/backoff.ts": "export const chance = Math.random();",
      "test/a.ts": takings,
    };
    expect(await lint(files)).toEqual([]);
  });

  it("lint rules use types to forbid floating promises and any", async () => {
    const text = [
      "const work = async (): Promise<void> => {};",
      "export const start = (): void => {",
      "  work();",
      "};",
      "export const read = (text: any): number => text.length;",
    ].join("\n");
    expect(await lint({ "src/runs/submit.ts": text })).toEqual([
      "typescript(no-explicit-any) src/runs/submit.ts:5",
      "typescript(no-floating-promises) src/runs/submit.ts:3",
      "typescript(no-unsafe-member-access) src/runs/submit.ts:5",
      "typescript(no-unsafe-return) src/runs/submit.ts:5",
    ]);
  });

  it("lint rules limit an entry point to 60 lines and any file to 600", async () => {
    const lines = (count: number): string =>
      Array.from({ length: count }, (_, i) => `export const a${i} = 1;`).join("\n");
    expect(
      await lint({ "src/cli.ts": lines(61), "src/kernel/app.ts": lines(601), "src/store/ledger.ts": lines(600) }),
    ).toEqual([
      expect.stringContaining("eslint(max-lines) src/cli.ts"),
      expect.stringContaining("eslint(max-lines) src/kernel/app.ts"),
    ]);
  });
});
