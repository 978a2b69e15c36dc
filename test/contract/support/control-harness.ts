/**
 * A worker's control API in this process: a sandbox as the platform, an embedded Redis in its own folder, and tokens of
 * every role. Requests go through the real server, on a free port.
 */
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, expect } from "vitest";
import { factsOfEvent } from "#events/event.ts";
import { beforeAll } from "#events/feed.ts";
import { loadConfig } from "#config/load.ts";
import { sectionsOf } from "#config/feature-section.ts";
import type { Role } from "#fleet/role.ts";
import type { SandboxOptions } from "#sandbox/options.ts";
import { startSandbox } from "#sandbox/server.ts";
import { createLogger } from "#telemetry/logger.ts";
import { App } from "#kernel/app.ts";
import type { AnyFeature } from "#cli/feature.ts";
import { audit } from "#jobs/audit/feature.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { features } from "#features.ts";
import { openHttp } from "#kernel/http.ts";
import { until } from "../../support/until.ts";

export const tokens = { viewer: "sf_viewer", operator: "sf_operator", admin: "sf_admin" } as const;

export interface HarnessOptions {
  readonly sandbox?: Partial<SandboxOptions>;
  readonly env?: Readonly<Record<string, string>>;
  /** Lines under `http:` in the configuration file, in addition to the tokens. */
  readonly http?: string;
  /** Adds files that the configuration needs to the folder. Returns lines for the top of the configuration file. */
  readonly prepare?: (folder: string) => Promise<string>;
  /** Whether runs and syncs are processed. */
  readonly works?: boolean;
  /** Features besides simfleet's own. */
  readonly more?: readonly AnyFeature[];
}

async function open({
  sandbox: given = {},
  env = {},
  http = "",
  prepare,
  works = false,
  more = [],
}: HarnessOptions = {}) {
  const sandbox = await startSandbox({
    periodSeconds: 2,
    sims: 50,
    ...given,
    limits: {
      Sim: 2e3,
      Credential: 60,
      Auth: 1e3,
      ...given.limits,
    },
  });
  const folder = await mkdtemp(join(tmpdir(), "contract-"));
  const file = join(folder, "simfleet.yaml");
  await writeFile(file, `${(await prepare?.(folder)) ?? ""}${configuration(http)}`, { mode: 0o600 });
  const io = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME || join(homedir(), ".cache"),
    SIMFLEET_DATA_DIR: join(folder, "data"),
    SIMFLEET_HTTP_PORT: "0",
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
    SIMFLEET_RATE_PERIOD_SECONDS: String(sandbox.options.periodSeconds),
    ...env,
  };
  const all = [...features, ...more];
  const config = loadConfig({ file, env: io, sections: await sectionsOf(all) });
  const log: string[] = [];
  const destination = { write: (text: string) => log.push(text) };
  const logger = createLogger({ level: "debug", destination });
  const app = await App.open(config, { logger, env: io, features: all });
  await app.work(["default"], works ? [runs, inventory, ...more] : more);
  const server = await openHttp({ app, health: { isMoving: () => Promise.resolve(true), isReady: app.kernel.ping } });
  let connection: Redis | undefined;
  return {
    /** Its address, without a slash at the end. */
    url: server.url,
    app,
    sandbox,
    folder,
    log,
    /** Settings with which a command works on the same data. */
    env: { ...io, SIMFLEET_CONFIG: file } as Readonly<Record<string, string>>,
    runs: app.service(runs).service,
    sims: app.service(inventory).service,
    freezes: app.kernel.freezes,
    audit: app.service(audit),

    /** Sends a request with a token of this role, or without a token. */
    ask(path: string, how: RequestInit & { as?: string | undefined } = {}): Promise<Response> {
      const { as, ...init } = how;
      const headers = new Headers(init.headers);
      if (as !== undefined) headers.set("authorization", `Bearer ${as in tokens ? tokens[as as Role] : as}`);
      return fetch(`${server.url}${path}`, { redirect: "manual", ...init, headers });
    },

    /** Sends a CSV file, as an operator unless another is named. */
    upload(path: string, body: string, init: RequestInit & { as?: string } = {}): Promise<Response> {
      return this.ask(path, { as: "operator", method: "POST", body, headers: { "content-type": "text/csv" }, ...init });
    },

    /** Starts a run of a CSV file. @returns its id */
    async startRun(body: string, query = ""): Promise<string> {
      return ((await (await this.upload(`/v1/runs${query}`, body)).json()) as { runId: string }).runId;
    },

    /** Waits until a run is over. @returns what it says then */
    async ended(runId: string): Promise<RunReport> {
      await until("the run is over", async () => (await this.runs.show(runId)).finishedAt !== null);
      return this.runs.show(runId);
    },

    /** Has the fleet of a profile read to its end, by whoever works its syncs. */
    async sync(profile = "default"): Promise<void> {
      await this.sims.sync(profile, { by: "test" });
      await until("the sync ends", async () => (await this.sims.syncReport(profile))?.state === "finished");
    },

    simId(index: number): string {
      return sandbox.state.sims.simIdAt(index);
    },

    /** A file for the first `rows` SIMs of the sandbox. */
    csv(rows: number, speedClass = "s1.fast"): string {
      const lines = Array.from({ length: rows }, (_, n) => `${this.simId(n)},${speedClass}\n`);
      return `simId,speedClass\n${lines.join("")}`;
    },

    /** A direct connection to its Redis. */
    redis(): Redis {
      return (connection ??= new Redis({ path: join(io.SIMFLEET_DATA_DIR, "redis", "redis.sock") }));
    },

    async [Symbol.asyncDispose](): Promise<void> {
      connection?.disconnect();
      await server.close();
      const undeclared = await undeclaredFields(app).catch(() => []);
      const unnamed = await unnamedProfileData(app, all).catch(() => []);
      await app.close();
      await sandbox.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
      expect(undeclared, "fields of events that their events.ts does not declare").toEqual([]);
      expect(unnamed, "first words of keys that no feature has in profileData").toEqual([]);
    },
  };
}

/** Fields of emitted events that the events.ts of their feature does not declare: a script names its fields itself. */
async function undeclaredFields({ kernel }: App): Promise<string[]> {
  const { events } = await kernel.feed.after(beforeAll, 10_000);
  const found = events.flatMap(({ type, fields }) =>
    Object.keys(fields)
      .filter((field) => !Object.hasOwn(factsOfEvent(type)?.fields ?? {}, field))
      .map((field) => `${type}: ${field}`),
  );
  return [...new Set(found)];
}

/** First words of the keys of profiles that would stay behind with a removed profile. Quotas belong to accounts. */
async function unnamedProfileData({ kernel }: App, all: readonly AnyFeature[]): Promise<string[]> {
  const { config, keys, redis } = kernel;
  const named = ["bucket", ...all.flatMap(({ profileData = [] }) => profileData)];
  const words = (await redis.keys(`${keys.prefix}:*`)).map((key) => key.slice(keys.prefix.length + 1).split(":"));
  const ofProfiles = words.filter(([, profile = ""]) => Object.hasOwn(config.profiles, profile.split(".")[0] ?? ""));
  return [...new Set(ofProfiles.map(([word = ""]) => word))].filter((word) => !named.includes(word));
}

/** The status and the document of an answer. */
export async function answerOf(asked: Response | Promise<Response>): Promise<[status: number, document: unknown]> {
  const answer = await asked;
  return [answer.status, await answer.json()];
}

export type ControlHarness = Awaited<ReturnType<typeof open>>;

export const ControlHarness = {
  open,

  /** One for all tests of the file that opens it. */
  async ofFile(options: HarnessOptions = {}): Promise<ControlHarness> {
    const harness = await open(options);
    afterAll(() => harness[Symbol.asyncDispose]());
    return harness;
  },
};

function configuration(http: string): string {
  const lines = Object.entries(tokens).map(([role, token]) => {
    const hash = createHash("sha256").update(token).digest("hex");
    return `    ${role}: { role: ${role}, hash: "sha256:${hash}" }\n`;
  });
  return `http:\n  tokens:\n${lines.join("")}${http}`;
}
