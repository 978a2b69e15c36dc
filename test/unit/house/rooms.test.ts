import { describe, expect, it } from "vitest";
import { folderOf, runScript } from "./run-script.ts";

const packages = Object.fromEntries(
  ["bullmq", "ioredis", "undici", "vitest"].flatMap((name) => [
    [`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", main: "index.js" })],
    [`node_modules/${name}/index.js`, ""],
  ]),
);

const manifest = JSON.stringify({
  type: "module",
  imports: { "#*.ts": { source: "./src/*.ts", default: "./dist/*.js" } },
  dependencies: { bullmq: "1.0.0", ioredis: "1.0.0", undici: "1.0.0" },
  devDependencies: { vitest: "1.0.0" },
});

/** Files that break no rule; each test adds what it is about. */
const sound = {
  "src/app.ts": 'import { Ledger } from "#store/ledger.ts";\nexport const ledger = new Ledger();\n',
  "src/cli.ts": 'import { ledger } from "./app.ts";\nledger.open();\n',
  "src/store/ledger.ts":
    'import type { Redis } from "ioredis";\nimport { pack } from "./packing.ts";\nexport class Ledger {\n  open = (redis?: Redis): void => pack(redis);\n}\n',
  "src/store/packing.ts": 'import type { Row } from "#fleet/run.ts";\nexport const pack = (row?: Row): void => {};\n',
  "src/fleet/run.ts": "export interface Row {}\n",
};

async function check(files: Record<string, string>): Promise<{ code: number | null; output: string }> {
  return runScript("scripts/rooms.mjs", [
    await folderOf({ "package.json": manifest, ...packages, ...sound, ...files }),
  ]);
}

describe("the check of rooms and doors", () => {
  it("reads every file of the project's src", async () => {
    const { output } = await runScript("scripts/rooms.mjs", []);
    expect(output).toMatch(/^[1-9][0-9]* files checked/m);
  });

  it("is content with imports through doors", async () => {
    expect(await check({})).toEqual({ code: 0, output: "5 files checked, 0 violations\n" });
  });

  it("fails where there is nothing to check", async () => {
    const folder = await folderOf({ "package.json": manifest, "src/readme.md": "" });
    expect(await runScript("scripts/rooms.mjs", [folder])).toMatchObject({ code: 2 });
  });

  const violations: [rule: string, place: string, files: Record<string, string>][] = [
    [
      "door-of-core",
      "src/core/time.ts:2",
      { "src/core/time.ts": '\nimport { pack } from "#store/packing.ts";\npack();\n' },
    ],
    [
      "door-of-fleet",
      "src/fleet/sim.ts:1",
      { "src/fleet/sim.ts": 'import type { Ledger } from "#store/ledger.ts";\nexport type Sim = Ledger;\n' },
    ],
    [
      "door-of-sandbox",
      "src/sandbox/server.ts:1",
      {
        "src/api/client.ts": "export const client = 1;\n",
        "src/sandbox/server.ts": 'export { client } from "#api/client.ts";\n',
      },
    ],
    [
      "door-of-http",
      "src/http/server.ts:3",
      { "src/http/server.ts": 'import {\n  Ledger,\n} from "#store/ledger.ts";\nnew Ledger();\n' },
    ],
    [
      "door-of-runs",
      "src/runs/plan.ts:2",
      { "src/runs/plan.ts": 'export async function plan(): Promise<void> {\n  await import("#app.ts");\n}\n' },
    ],
    [
      "only-door-to-bullmq",
      "src/jobs/job.ts:1",
      { "src/jobs/job.ts": 'import type { Job } from "bullmq";\nexport type J = Job;\n' },
    ],
    [
      "only-door-to-ioredis",
      "src/runs/plan.ts:1",
      { "src/runs/plan.ts": 'import type { Redis } from "ioredis";\nexport type R = Redis;\n' },
    ],
    [
      "only-door-to-ioredis",
      "src/limiter/bucket.ts:3",
      { "src/limiter/bucket.ts": 'import {\n  Redis,\n} from "ioredis";\nnew Redis();\n' },
    ],
    [
      "only-door-to-undici",
      "src/api/client.ts:1",
      { "src/api/client.ts": 'import { request } from "undici";\nrequest();\n' },
    ],
    [
      "no-cycle",
      "src/fleet/profile.ts:1",
      {
        "src/fleet/profile.ts": 'import type { Sim } from "./sim.ts";\nexport type Profile = Sim;\n',
        "src/fleet/sim.ts": 'import type { Profile } from "./profile.ts";\nexport type Sim = Profile;\n',
      },
    ],
    ["entries-are-not-imported", "src/app.ts:1", { "src/app.ts": 'import "./cli.ts";\nexport const ledger = 1;\n' }],
    [
      "src-stands-alone",
      "src/core/time.ts:1",
      { "src/core/time.ts": 'import "../../test/clock.ts";\n', "test/clock.ts": "export {};\n" },
    ],
    ["resolvable", "src/core/time.ts:1", { "src/core/time.ts": 'import "./nowhere.ts";\n' }],
    ["declared-package", "src/core/time.ts:1", { "src/core/time.ts": 'import "vitest";\n' }],
    ["visible-door", "src/fleet/sim.ts:1", { "src/fleet/sim.ts": 'import "#fleet/run.ts";\n' }],
    ["visible-door", "src/store/seal.ts:1", { "src/store/seal.ts": 'import "../fleet/run.ts";\n' }],
    ["known-room", "src/cellar/wine.ts:1", { "src/cellar/wine.ts": "export {};\n" }],
    ["known-room", "src/boot.ts:1", { "src/boot.ts": "export {};\n" }],
    ["no-barrel", "src/store/index.ts:1", { "src/store/index.ts": "export {};\n" }],
    ["no-barrel", "src/store/all.ts:1", { "src/store/all.ts": 'export * from "./packing.ts";\n' }],
    ["telling-name", "src/core/utils.ts:1", { "src/core/utils.ts": "export {};\n" }],
    [
      "no-cycle",
      "web/src/pure/a.ts:1",
      { "web/src/pure/a.ts": 'import "./b.ts";\n', "web/src/pure/b.ts": 'import "./a.ts";\n' },
    ],
    [
      "pure-logic",
      "web/src/pure/rate.ts:1",
      { "web/src/pure/rate.ts": 'import "../page.ts";\n', "web/src/page.ts": "export {};\n" },
    ],
    ["one-clock", "src/store/seal.ts:1", { "src/store/seal.ts": "export const now = new Date();\n" }],
  ];

  it.each(violations)("reports %s at %s", async (rule, place, files) => {
    const { code, output } = await check(files);
    expect(output).toContain(`${place} ${rule}: `);
    expect(code).toBe(1);
  });
});
