/** A fleet whose usage is read from a sandbox with a clock of its own, in one process. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { PlatformClient } from "#api/client.ts";
import { systemClock } from "#core/time.ts";
import { parseFilter } from "#fleet/filter.ts";
import { operationOptions } from "#fleet/deployment-operation.ts";
import type { Threshold } from "#jobs/usage/config.ts";
import { readUsage } from "#jobs/usage/open.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { SandboxOptions } from "#sandbox/options.ts";
import type { TestRedis } from "../../support/redis.ts";
import type { Around } from "../engine/crashes.ts";
import { FleetHarness } from "../inventory/fleet-harness.ts";
import { keptBounds } from "../ledger/run-of.ts";

export const noonMs = Date.UTC(2099, 4, 20, 12);
export const much: Threshold = { name: "much", where: parseFilter("simId exists"), over: 1e9, per: "month" };

type Parts = Omit<Parameters<typeof readUsage>[0], "profile" | "syncId" | "startedAtMs">;

export class UsageHarness {
  readonly fleet: FleetHarness;
  readonly clock: { nowMs: number };
  readonly parts: Parts;
  #syncs = 0;

  private constructor(fleet: FleetHarness, clock: UsageHarness["clock"], place: TestRedis, more: Partial<Parts>) {
    this.fleet = fleet;
    this.clock = clock;
    this.parts = {
      redis: place.redis,
      keys: place.keys,
      bounds: keptBounds,
      clock: {
        ...systemClock,
        wallMs: () => clock.nowMs,
        sleep: (delayMs) => {
          clock.nowMs += delayMs;
          return Promise.resolve();
        },
      },
      inventory: fleet.inventory,
      thresholds: [much],
      account: () => fleet.account,
      operations: () => ({
        exportUsage: operationOptions.exportUsage.example,
        getExportedFile: operationOptions.getExportedFile.example,
      }),
      hosts: ["127.0.0.1"],
      isLocal: true,
      proxy: undefined,
      userAgent: "test",
      signal: new AbortController().signal,
      ...more,
    };
  }

  /** A fleet that was synced, at noon on May 20. */
  static async open(
    place: TestRedis,
    { more = {}, ...sandbox }: Partial<SandboxOptions> & { more?: Partial<Parts> } = {},
  ): Promise<UsageHarness> {
    const clock = { nowMs: noonMs };
    const options = { sims: 40, operations: "all", clock: { ...systemClock, wallMs: () => clock.nowMs } } as const;
    const fleet = await FleetHarness.open(place, { ...options, ...sandbox });
    await fleet.sync();
    return new UsageHarness(fleet, clock, place, more);
  }

  /** From now on, every export is this file, from a server that closes the connection before the last bytes. */
  async giveFile(file: (date: string) => string, { missingBytes = 0 } = {}): Promise<void> {
    const server = createServer(({ url = "" }, response) => {
      const body = Buffer.from(file(url.slice(1)));
      response.writeHead(200, { "content-length": body.length });
      response.write(body.subarray(0, body.length - missingBytes), () => {
        if (missingBytes > 0) response.destroy();
        else response.end();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { client } = this.fleet.account;
    const ordered: { period: string }[] = [];
    const call = (operation: { id: string }, input: { id: string; period: string }): Promise<unknown> => {
      if (operation.id === "exportUsage") return Promise.resolve({ exportedFileId: String(ordered.push(input) - 1) });
      const isMonth = ordered[Number(input.id)]?.period === "month";
      return Promise.resolve({ status: "exported", url: `${at}/${isMonth ? "209905" : "20990520"}` });
    };
    const whoAmI = client.whoAmI.bind(client);
    this.fleet.account = { ...this.fleet.account, client: { call, whoAmI } as unknown as PlatformClient };
  }

  /** Reads the usage in one process. */
  sync(around: Around = (_, thing) => thing): ReturnType<typeof readUsage> {
    this.#syncs += 1;
    const { keys, bounds } = this.parts;
    const redis = around("redis", this.parts.redis);
    const account = { ...this.fleet.account, client: around("client", this.fleet.account.client) };
    const parts = { ...this.parts, redis, inventory: new Inventory({ redis, keys }), account: () => account };
    const { profile } = this.fleet;
    return readUsage({ ...parts, bounds, profile, syncId: `u-${this.#syncs}`, startedAtMs: this.clock.nowMs });
  }

  simId(place: number): string {
    return this.fleet.sandbox.state.sims.simIdAt(place);
  }

  /** A field of a SIM as filters see it. */
  async usageOf(place: number, period: "day" | "month"): Promise<number | undefined> {
    const sim = await this.fleet.inventory.sim(this.fleet.profile, this.simId(place));
    const value = sim?.fields.get(`usage.${period}`);
    return value !== undefined && "json" in value ? Number(value.json) : undefined;
  }

  /** What the sandbox's SIM has used since an instant, up to another. */
  bytesOf(place: number, fromMs: number, toMs: number): number {
    return this.fleet.sandbox.state.exports.bytesAt(place, fromMs, toMs);
  }

  /** The SIMs of which an event says that they have crossed a threshold. */
  async crossed(): Promise<string[]> {
    const { events } = await this.fleet.feed.newest(
      { profile: this.fleet.profile, types: ["sim.usage-crossed"] },
      { limit: 1_000 },
    );
    return events.map(({ fields }) => fields.sim ?? "");
  }
}
