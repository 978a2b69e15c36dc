/** Everything that an AuthKey rotation needs, against the sandbox, in process lives that a test can end anywhere. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import type { PlatformClient } from "#api/client.ts";
import { type CredentialWatch, watchCredentials } from "#config/secrets/credentials.ts";
import { loadConfig } from "#config/load.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { webhookSender } from "#events/webhook/webhook.ts";
import { operationOptions } from "#fleet/deployment-operation.ts";
import type { Sink } from "#jobs/credentials/config.ts";
import { authKeyAccount, type AuthKeyDeps, rotateAuthKey } from "#jobs/authkeys/work.ts";
import { commandRunner } from "#jobs/credentials/command.ts";
import { handOver } from "#jobs/credentials/sinks.ts";
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import type { SandboxOptions } from "#sandbox/options.ts";
import { type AuthKeyRotation, type AuthKeyRotations, authKeyRotations } from "#jobs/authkeys/record.ts";
import { isRotationOver } from "#jobs/credentials/rotation-machine.ts";
import { type AuthKeyUsers, authKeyUsers } from "#engine/authkey-users.ts";
import { openSeal } from "#engine/seal.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { clientFor } from "../../unit/api/support.ts";
import type { Around } from "../engine/crashes.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { noGuard } from "../../support/no-guard.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const operations = Object.fromEntries(Object.entries(operationOptions).map(([id, { example }]) => [id, example]));

export type Who = "root" | "sub-user";

/** A sandbox that restores its initial AuthKeys for every harness. */
export async function sandboxFor(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const limits = { Sim: 1e6, Operator: 1e6, Auth: 1e6 };
  const user = { userAuthKeyId: "keyId-robot", userAuthKey: "secret-robot" };
  return startSandbox({ operations: "all", sims: 5, limits, ...user, ...options });
}

export class KeyHarness {
  readonly profile = `p-${randomBytes(4).toString("hex")}`;
  readonly sandbox: Sandbox;
  readonly folder = temporaryFolder();
  readonly file = join(this.folder, "auth-key");
  readonly rotations: AuthKeyRotations;
  readonly users: AuthKeyUsers;
  readonly who: Who;
  readonly #feed: Feed;
  readonly #collaborators: StoreDeps;
  readonly #sealKey = new Secret(randomBytes(32).toString("base64url"));
  /** Over what a life would use. */
  change: (harness: AuthKeyDeps) => AuthKeyDeps = (harness) => harness;
  /** Whether a life waits after each move until it uses the AuthKey of its file, for the same moves each time. */
  isSettling = false;
  sinks: readonly Sink[] = [{ file: this.file }];

  constructor(place: { redis: Redis; keys: Keys; sandbox: Sandbox; who?: Who }) {
    const { redis, keys, sandbox, who = "root" } = place;
    this.sandbox = sandbox;
    this.who = who;
    sandbox.accounts.reset();
    const all = { redis, keys, bounds: keptBounds };
    this.#collaborators = all;
    this.rotations = authKeyRotations(all);
    this.users = authKeyUsers(all);
    this.#feed = new Feed({ ...all, clock: systemClock });
    const { authKeyId, authKey, userAuthKeyId, userAuthKey } = sandbox.options;
    const first = who === "root" ? { authKeyId, authKey } : { authKeyId: userAuthKeyId, authKey: userAuthKey };
    this.old = first.authKeyId ?? "";
    this.put(first);
  }

  readonly old: string;

  /** Writes the profile's file as a user would. */
  put(key: object): void {
    writeFileSync(this.file, JSON.stringify(key), { mode: 0o600 });
  }

  get userName(): string | undefined {
    return this.who === "root" ? undefined : this.sandbox.options.userName;
  }

  /** Ids that the platform has. */
  ids(): string[] {
    return this.sandbox.accounts.authKeys.list(this.userName).map(({ authKeyId }) => authKeyId);
  }

  /** The AuthKey of the profile's file, and whether the platform takes it. */
  inFile(): { id: string; isGood: boolean } {
    const key = JSON.parse(readFileSync(this.file, "utf8")) as { authKeyId: string; authKey: string };
    const known = this.sandbox.accounts.authKeys.all.find(({ authKeyId }) => authKeyId === key.authKeyId);
    return { id: key.authKeyId, isGood: known?.authKey === key.authKey };
  }

  async begin(replaceId?: string): Promise<AuthKeyRotation> {
    const owner = { name: this.profile, profile: this.profile };
    return this.rotations.begin(owner, { rotationId: `k-${randomBytes(4).toString("hex")}`, replaceId });
  }

  async record(): Promise<AuthKeyRotation> {
    const record = await this.rotations.record(this.profile);
    if (record === undefined) throw new Error("there is no rotation");
    return record;
  }

  async events(): Promise<string[]> {
    const { events } = await this.#feed.newest({ profile: this.profile }, { limit: 500 });
    return events.toReversed().map(({ type, fields }) => `${type} ${fields.reason ?? fields.authKeyId ?? ""}`.trim());
  }

  /** One life of a process: works on the rotation until it ends, with short waits. @param around wraps what it uses */
  async live(around: Around = (_, thing) => thing, maxPolls = 500): Promise<AuthKeyRotation> {
    const { client, watch } = this.#open();
    try {
      const harness = this.change(this.#harnessOf(client, watch, around));
      for (let poll = 0; poll < maxPolls; poll += 1) {
        const result = await rotateAuthKey(this.profile, harness, new AbortController().signal);
        const record = await this.record();
        if (result.kind === "ended" || isRotationOver(record)) return record;
        await systemClock.sleep(10);
      }
      return await this.record();
    } finally {
      watch.stop();
      await client.close();
    }
  }

  #open(): { client: PlatformClient; watch: CredentialWatch } {
    const { profiles } = loadConfig({ env: { SIMFLEET_AUTH_KEY_FILE: this.file } });
    const { default: profile } = profiles;
    if (profile === undefined) throw new Error("no default profile");
    const reloaded = (): void => void client.renewNow().catch(() => undefined);
    const watch = watchCredentials(profile, { reloaded, kept: () => undefined });
    const client = clientFor(this.sandbox.url, {
      profile: { name: this.profile, coverage: "g", wording: "sims" },
      credentials: () => watch.forms(),
      clock: systemClock,
      onEvent: ({ type }) => {
        if (type === "renewed" && client.inUse !== undefined) watch.proven(client.inUse);
      },
    });
    return { client, watch };
  }

  #harnessOf(client: PlatformClient, watch: CredentialWatch, around: Around): AuthKeyDeps {
    const account = authKeyAccount(client, { deployment: { name: "test", operations }, purpose: "Testing" });
    const inUse = (): string | undefined => {
      watch.poll();
      const form = client.inUse ?? watch.forms()[0];
      return form?.kind === "auth-key" ? form.authKeyId : undefined;
    };
    // One process is one name, also after its death: the next process reports again what it uses.
    const users = {
      list: async (profile: string) => {
        await this.users.say(profile, "w-1", inUse());
        return this.users.list(profile);
      },
    };
    const own = authKeyRotations({ ...this.#collaborators, redis: around("redis", this.#collaborators.redis) });
    const log = {
      ...own,
      move: async (...args: Parameters<AuthKeyRotations["move"]>) => {
        await this.users.say(this.profile, "w-1", inUse());
        const moved = await own.move(...args);
        if (this.isSettling && inUse() !== this.inFile().id) await client.renewNow().catch(() => undefined);
        return moved;
      },
    };
    const sinkDeps = {
      commands: commandRunner({ env: { PATH: process.env.PATH }, clock: systemClock }),
      readSecretFile,
      webhooks: webhookSender({ clock: systemClock, userAgent: "simfleet/test" }),
      pod: { env: {} },
    };
    const give: AuthKeyDeps["handOver"] = (sink, handover, signal) => handOver(sink, handover, sinkDeps, signal);
    return {
      log,
      users,
      seal: openSeal({ key: this.#sealKey, previousKey: undefined }),
      account: around("account", account),
      sinks: this.sinks,
      clock: systemClock,
      guard: noGuard,
      quietMs: 30,
      inUseHere: inUse,
      handOver: around("sinks", { give }).give,
    };
  }
}

/** The account of a rotation, with some of its calls replaced. */
export function accountWith(
  { account }: AuthKeyDeps,
  calls: Partial<AuthKeyDeps["account"]> = {},
): AuthKeyDeps["account"] {
  return {
    list: (signal) => account.list(signal),
    create: (signal) => account.create(signal),
    revoke: (id, signal) => account.revoke(id, signal),
    prove: (key) => account.prove(key),
    ...calls,
  };
}
