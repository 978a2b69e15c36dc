/** A fleet in a sandbox, the inventory that reads it, and everything between, in one process. */
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import type { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { EventType } from "#events/event.ts";
import { Feed } from "#events/feed.ts";
import { type Filter, everySim } from "#fleet/filter.ts";
import { type FieldSelection, documentOf, usualFields } from "#fleet/sim/sim-fields.ts";
import { type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import type { Account } from "#api/account.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { SandboxOptions } from "#sandbox/options.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import type { Inventory, SimPresence } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { SyncLog, SyncState } from "#jobs/inventory/store/sync-record.ts";
import { redisTimeMs } from "#redis/node.ts";
import type { TestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import type { Around } from "../engine/crashes.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { type SyncParts, accountOf, storesOn, syncParts, workOn } from "./sync-harness.ts";

export interface FleetOptions extends Partial<SandboxOptions> {
  readonly wording?: Wording;
  readonly selection?: Partial<FieldSelection>;
  readonly pageLimit?: number;
}

type Place = Pick<TestRedis, "redis" | "keys">;

export class FleetHarness {
  readonly profile: string;
  readonly sandbox: Sandbox;
  readonly inventory: Inventory;
  readonly syncs: SyncLog;
  readonly ledger: Ledger;
  readonly feed: Feed;
  account: Account;
  readonly #deps: SyncParts;
  readonly #options: FleetOptions;
  readonly #place: Place;
  #syncNumber = 0;

  private constructor(sandbox: Sandbox, place: Place, options: FleetOptions) {
    const collaborators = { ...place, bounds: keptBounds, clock: systemClock };
    this.#deps = syncParts({
      ...place,
      url: sandbox.url,
      profile: `p-${randomBytes(4).toString("hex")}`,
      wording: options.wording ?? "sims",
      coverage: sandbox.options.serves.includes("g") ? "g" : "jp",
    });
    this.sandbox = sandbox;
    this.profile = this.#deps.profile;
    this.inventory = this.#deps.inventory;
    this.syncs = this.#deps.syncs;
    this.ledger = new Ledger(collaborators);
    this.feed = new Feed(collaborators);
    this.#options = options;
    this.#place = place;
    this.account = this.keeping();
  }

  static async open(place: Place, options: FleetOptions = {}): Promise<FleetHarness> {
    const { wording: _, selection: __, pageLimit: ___, ...sandboxOptions } = options;
    const sandbox = await startSandbox({ ...sandboxOptions, limits: { Sim: 1e9, Credential: 60, Auth: 1e6 } });
    const fleet = new FleetHarness(sandbox, place, options);
    onTestFinished(async () => {
      await fleet.#deps.client.close();
      await sandbox.close();
    });
    return fleet;
  }

  /** The account, with another selection of fields. */
  keeping(fields: readonly string[] = usualFields): Account {
    const account = accountOf(this.#deps.client, this.#options.wording ?? "sims", fields);
    return {
      ...account,
      selection: { ...account.selection, ...this.#options.selection },
      pageLimit: this.#options.pageLimit,
    };
  }

  /** Starts or resumes a sync, and works on it until it has ended, was interrupted or postponed. */
  async sync(how: { signal?: AbortSignal } = {}): Promise<{ result: WorkResult; state: SyncState }> {
    await this.begin();
    const result = await this.work(how.signal);
    return { result, state: await this.state() };
  }

  async begin(how: "resume" | "restart" = "resume"): Promise<SyncState> {
    this.#syncNumber += 1;
    // A listing that is asked for in the millisecond of a response counts as older than the response.
    const { redis, keys } = this.#place;
    const nowMs = await redisTimeMs(redis, keys);
    await until("Redis's clock moves on", async () => (await redisTimeMs(redis, keys)) > nowMs);
    return this.syncs.begin(this.profile, `s-${this.#syncNumber}`, how);
  }

  /** A process that works on the same fleet. @param around wraps what it uses */
  process(around: Around): { work: () => Promise<WorkResult> } {
    const { redis, keys } = this.#place;
    const client = around("client", this.#deps.client);
    const deps = { ...this.#deps, ...storesOn({ redis: around("redis", redis), keys }) };
    return { work: () => workOn(deps, { ...this.account, client }) };
  }

  work(signal?: AbortSignal): Promise<WorkResult> {
    return workOn(this.#deps, this.account, signal);
  }

  async state(): Promise<SyncState> {
    const state = await this.syncs.state(this.profile);
    if (state === undefined) throw new Error("no sync was begun");
    return state;
  }

  /** Key to document, of all SIMs. */
  async known(presence: SimPresence = "listed"): Promise<Map<string, Record<string, unknown>>> {
    const known = new Map<string, Record<string, unknown>>();
    const keyColumn = keyColumnOf(this.account.wording);
    for await (const found of this.inventory.scan(this.profile, everySim, { presence, keyColumn })) {
      for (const { key, sim } of found) known.set(key, documentOf(sim.fields));
    }
    return known;
  }

  /** The keys of the SIMs that a filter finds. */
  async find(filter: Filter): Promise<string[]> {
    const found: string[] = [];
    const keyColumn = keyColumnOf(this.account.wording);
    for await (const some of this.inventory.scan(this.profile, filter, { keyColumn })) {
      found.push(...some.map(({ key }) => key));
    }
    return found;
  }

  /** What the sandbox's list shows, in the shape of `known`. */
  listed(fields: readonly string[] = this.account.selection.fields): Map<string, Record<string, unknown>> {
    const { sims } = this.sandbox.state;
    const listed = new Map<string, Record<string, unknown>>();
    for (let place = 0; place < sims.places; place += 1) {
      const simId = sims.simIdAt(place);
      if (!this.sandbox.state.isListed(simId)) continue;
      const record = sims.recordAt(place) as Record<string, unknown>;
      const kept = fields.filter((name) => record[name] !== null && record[name] !== undefined);
      listed.set(simId, Object.fromEntries(kept.map((name) => [name, record[name]])));
    }
    return listed;
  }

  /** The events of this profile, oldest first, without id and instant. */
  async events(types?: readonly EventType[]): Promise<Record<string, unknown>[]> {
    const { events } = await this.feed.newest({ profile: this.profile, types }, { limit: 100_000 });
    return events.toReversed().map(({ type, fields }) => ({ type, ...fields }));
  }

  /** What must come out the same, however often a sync was killed. */
  async result(): Promise<unknown> {
    const { inventory: _, profile: __, startedAtMs: ___, finishedAtMs: ____, ...state } = await this.state();
    return { state, known: await this.known(), gone: await this.known("gone"), events: await this.events() };
  }

  /** Calls of the list so far. */
  get listCalls(): number {
    const { byOperation } = this.sandbox.state.totals;
    return (byOperation.listSims ?? 0) + (byOperation.listSubscribers ?? 0);
  }
}

export function refusalIn(result: WorkResult): PlatformError | undefined {
  return result.kind === "postponed" ? result.refusal : undefined;
}
