import { describe, expect, it } from "vitest";
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
  "src/kernel/app.ts": 'import { Ledger } from "#jobs/runs/ledger/ledger.ts";\nexport const ledger = new Ledger();\n',
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
    "imports-of-jobs-runs",
    "src/jobs/runs/plan.ts:2",
    {
      "src/jobs/runs/plan.ts": 'export async function plan(): Promise<void> {\n  await import("#kernel/app.ts");\n}\n',
    },
  ],
  [
    "services-only",
    "src/http/server.ts:3",
    { "src/http/server.ts": 'import {\n  Ledger,\n} from "#jobs/runs/ledger/ledger.ts";\nnew Ledger();\n' },
  ],
  [
    "owner-of-ioredis",
    "src/fleet/plan.ts:1",
    { "src/fleet/plan.ts": 'import type { Redis } from "ioredis";\nexport type R = Redis;\n' },
  ],
  [
    "no-cycle",
    "src/fleet/profile.ts:1",
    {
      "src/fleet/profile.ts": 'import type { Sim } from "./sim.ts";\nexport type Profile = Sim;\n',
      "src/fleet/sim.ts": 'import type { Profile } from "./profile.ts";\nexport type Sim = Profile;\n',
    },
  ],
  [
    "entries-are-not-imported",
    "src/kernel/kernel.ts:1",
    { "src/kernel/kernel.ts": 'import "#cli.ts";\nexport const ledger = 1;\n' },
  ],
  [
    "src-stands-alone",
    "src/core/time.ts:1",
    { "src/core/time.ts": 'import "../../test/clock.ts";\n', "test/clock.ts": "export {};\n" },
  ],
  ["resolvable", "src/core/time.ts:1", { "src/core/time.ts": 'import "./nowhere.ts";\n' }],
  ["declared-package", "src/core/time.ts:1", { "src/core/time.ts": 'import "undeclared";\n' }],
  ["import-spelling", "src/fleet/sim.ts:1", { "src/fleet/sim.ts": 'import "#fleet/run.ts";\n' }],
  ["import-spelling", "src/engine/seal.ts:1", { "src/engine/seal.ts": 'import "../fleet/run.ts";\n' }],
  ["known-module", "src/cellar/wine.ts:1", { "src/cellar/wine.ts": "export {};\n" }],
  ["no-barrel", "src/engine/index.ts:1", { "src/engine/index.ts": "export {};\n" }],
  ["no-barrel", "src/jobs/runs/ledger/all.ts:1", { "src/jobs/runs/ledger/all.ts": 'export * from "./packing.ts";\n' }],
  ["clear-name", "src/core/utils.ts:1", { "src/core/utils.ts": "export {};\n" }],
  [
    "pure-logic",
    "web/src/pure/rate.ts:1",
    { "web/src/pure/rate.ts": 'import "../page.ts";\n', "web/src/page.ts": "export {};\n" },
  ],
  ["one-clock", "src/engine/seal.ts:1", { "src/engine/seal.ts": "export const now = new Date();\n" }],
];

/** One check for all violations whose files do not overlap, since each starts a process. */
const batches: { files: Record<string, string>; result?: ReturnType<typeof check> }[] = [];
for (const [, , files] of violations) {
  const free = batches.find((batch) => Object.keys(files).every((path) => !Object.hasOwn(batch.files, path)));
  if (free === undefined) batches.push({ files: { ...files } });
  else Object.assign(free.files, files);
}

function checked(files: Record<string, string>): ReturnType<typeof check> {
  const [path = ""] = Object.keys(files);
  const batch = batches.find((one) => one.files[path] === files[path]) ?? { files };
  return (batch.result ??= check(batch.files));
}

describe("the import check", () => {
  it("the import check accepts imports that the rules allow", async () => {
    expect(await check({})).toEqual({ code: 0, output: "5 files checked, 0 violations\n" });
  });

  it("the import check fails when there are no files to check", async () => {
    const folder = await folderOf({ "package.json": manifest, "src/readme.md": "" });
    expect(await runScript("scripts/imports.mjs", [folder])).toMatchObject({ code: 2 });
  });

  it.each(violations)("the import check reports %s at %s", async (rule, place, files) => {
    const { code, output } = await checked(files);
    expect(output).toContain(`${place} ${rule}: `);
    expect(code).toBe(1);
  });

  it("the import check reports no other locations", async () => {
    const reported = (await Promise.all(batches.map(({ files }) => checked(files)))).flatMap(({ output }) =>
      [...output.matchAll(/^(\S+) \S+: /gm)].map(([, place]) => place),
    );
    expect(new Set(reported)).toEqual(new Set(violations.map(([, place]) => place)));
  });
});
