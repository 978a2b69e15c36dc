import { expect, it } from "vitest";
import { folderOf, runScript } from "./run-script.ts";

const packages = Object.fromEntries(
  ["bullmq", "ioredis", "undici", "undeclared"].flatMap((name) => [
    [`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", main: "index.js" })],
    [`node_modules/${name}/index.js`, ""],
  ]),
);

const manifest = JSON.stringify({
  type: "module",
  imports: { "#*": "./src/*" },
  devDependencies: { bullmq: "1.0.0", ioredis: "1.0.0", undici: "1.0.0" },
});

/** Files that break no rule; each test adds what it is about. */
const sound = {
  "src/kernel/app.ts": 'import { ledger as opened } from "#jobs/runs/feature.ts";\nexport const ledger = opened;\n',
  "src/jobs/runs/feature.ts": 'import { Ledger } from "./ledger/ledger.ts";\nexport const ledger = new Ledger();\n',
  "src/cli.ts": 'import { ledger } from "#kernel/app.ts";\nledger.open();\n',
  "src/jobs/runs/ledger/ledger.ts":
    'import type { Redis } from "ioredis";\nimport { pack } from "./packing.ts";\nexport class Ledger {\n  open = (redis?: Redis): void => pack(redis);\n}\n',
  "src/jobs/runs/ledger/packing.ts":
    'import type { Row } from "#fleet/run.ts";\nexport const pack = (row?: Row): void => {};\n',
  "src/fleet/run.ts": "export interface Row {}\n",
};

async function check(files: Record<string, string>): Promise<{ code: number | null; output: string }> {
  return runScript("scripts/imports.mjs", [
    await folderOf({ "package.json": manifest, ...packages, ...sound, ...files }),
  ]);
}

const violations: [rule: string, place: string, files: Record<string, string>][] = [
  [
    "imports-of-core",
    "src/core/time.ts:2",
    { "src/core/time.ts": '\nimport { pack } from "#jobs/runs/ledger/packing.ts";\npack();\n' },
  ],
  [
    "services-only",
    "src/jobs/runs/commands/show.ts:1",
    { "src/jobs/runs/commands/show.ts": 'import { Ledger } from "../ledger/ledger.ts";\nnew Ledger();\n' },
  ],
  [
    "features-by-feature-ts",
    "src/http/server.ts:3",
    { "src/http/server.ts": 'import {\n  Ledger,\n} from "#jobs/runs/ledger/ledger.ts";\nnew Ledger();\n' },
  ],
  [
    "owner-of-ioredis",
    "src/fleet/plan.ts:1",
    { "src/fleet/plan.ts": 'import type { Redis } from "ioredis";\nexport type R = Redis;\n' },
  ],
  [
    "types-of-kernel",
    "src/jobs/runs/report.ts:1",
    {
      "src/jobs/runs/report.ts": 'import { open } from "#kernel/kernel.ts";\nopen();\n',
      "src/kernel/kernel.ts": "export const open = (): void => {};\n",
    },
  ],
  ["resolvable", "src/core/ago.ts:1", { "src/core/ago.ts": 'import "./nowhere.ts";\n' }],
  ["declared-package", "src/core/text.ts:1", { "src/core/text.ts": 'import "undeclared";\n' }],
  ["import-spelling", "src/fleet/sim.ts:1", { "src/fleet/sim.ts": 'import "#fleet/run.ts";\n' }],
  ["known-module", "src/cellar/wine.ts:1", { "src/cellar/wine.ts": "export {};\n" }],
  ["no-barrel", "src/jobs/runs/ledger/all.ts:1", { "src/jobs/runs/ledger/all.ts": 'export * from "./packing.ts";\n' }],
  ["clear-name", "src/core/utils.ts:1", { "src/core/utils.ts": "export {};\n" }],
  ["one-clock", "src/engine/seal.ts:1", { "src/engine/seal.ts": "export const now = new Date();\n" }],
];

/** One check for all, since it starts a process. */
const all: Record<string, string> = Object.assign({}, ...violations.map(([, , files]) => files));
let checked: ReturnType<typeof check> | undefined;

it("the import check accepts imports that the rules allow", async () => {
  expect(await check({})).toEqual({ code: 0, output: "6 files checked, 0 violations\n" });
});

it("the import check fails when there are no files to check", async () => {
  const folder = await folderOf({ "package.json": manifest, "src/readme.md": "" });
  expect(await runScript("scripts/imports.mjs", [folder])).toMatchObject({ code: 2 });
});

it.each(violations)("the import check reports %s at %s", async (rule, place) => {
  const { code, output } = await (checked ??= check(all));
  expect(output).toContain(`${place} ${rule}: `);
  expect(code).toBe(1);
});
