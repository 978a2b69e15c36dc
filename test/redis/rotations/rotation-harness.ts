/** An account in a sandbox and a rotation of one of its sets; tests control the time. */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import type { PlatformClient } from "#api/client.ts";
import { loadDeployment } from "#config/deployment.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { Secret } from "#core/secrets/secret.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { webhookSender } from "#events/webhook/webhook.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import type { Rotation } from "#jobs/credentials/config.ts";
import type { Incident, WorkResult } from "#engine/queue/job-result.ts";
import type { RotationAccount } from "#jobs/credentials/account-sets.ts";
import { commandRunner } from "#jobs/credentials/command.ts";
import { handOver } from "#jobs/credentials/sinks.ts";
import { type RotationContext, planRotation, workOnRotations } from "#jobs/credentials/work.ts";
import type { Keys } from "#redis/keys.ts";
import type { SandboxOptions } from "#sandbox/options.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { type RotationRecord, rotationLog } from "#jobs/credentials/record.ts";
import { openSeal } from "#engine/seal.ts";
import { clientFor, type Platform, startPlatform } from "../../unit/api/support.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { noGuard } from "../../support/no-guard.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Stands still until it is moved; who sleeps moves it. */
class PassingClock extends ManualClock {
  override epochMs = Date.UTC(2026, 10, 20, 3, 0, 0);

  override sleep(delayMs: number): Promise<void> {
    this.pass(delayMs);
    return Promise.resolve();
  }

  override pass(ms: number): void {
    super.pass(Math.ceil(ms));
  }
}

/** Read once: each look at an account needs it, and a test of crashes looks hundreds of times. */
const deployment = loadDeployment("soracom", []);

export const oldSecret = "the-secret-before";

export interface HarnessOptions {
  readonly place: { readonly redis: Redis; readonly keys: Keys };
  readonly sandbox?: Partial<SandboxOptions>;
  readonly rotation?: Partial<Rotation>;
  /** Operations that the platform definition does not have. */
  readonly without?: readonly DeploymentOperationId[];
  /** Sinks beyond a file. */
  readonly withWebhook?: true;
}

/** Wraps what the work uses; its calls may throw. */
export type Between = <T extends object>(name: string, thing: T) => T;

export class RotationHarness {
  readonly profile = `p-${randomBytes(4).toString("hex")}`;
  readonly clock = new PassingClock();
  readonly rotation: Rotation;
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly key = new Secret(randomBytes(32).toString("base64url"));
  readonly feed: Feed;
  readonly incidents: string[] = [];
  /** Every value that the webhook was handed. */
  readonly heard: string[] = [];
  /** How the receiver answers, first come first served; then 204. */
  readonly answers: number[] = [];
  readonly #options: HarnessOptions;
  readonly #clients: PlatformClient[] = [];

  private constructor(options: HarnessOptions, sandbox: Sandbox, folder: string, receiver: Platform | undefined) {
    this.#options = options;
    this.sandbox = sandbox;
    this.folder = folder;
    const webhookSecret = join(folder, "hook-secret");
    writeFileSync(webhookSecret, `whsec_${Buffer.alloc(32, 5).toString("base64")}`, { mode: 0o600 });
    const hook = { webhook: { url: `${receiver?.url}/hook`, secretFile: webhookSecret, allowPrivate: false } } as const;
    const name = `psk-${this.profile}`;
    this.rotation = {
      name,
      profile: this.profile,
      type: "psk",
      credentialsId: name,
      description: "of a test",
      generate: { field: "key", bytes: 32, encoding: "base64url" },
      constants: {},
      strategy: "successor",
      graceMs: 36e5,
      maxAgeMs: undefined,
      sinks: [{ file: this.sinkFile }, ...(receiver === undefined ? [] : [hook])],
      ...options.rotation,
    };
    this.feed = new Feed({ ...options.place, bounds: keptBounds, clock: this.clock });
  }

  static async open(options: HarnessOptions): Promise<RotationHarness> {
    const clock = { now: (): Clock => systemClock };
    const later: Clock = {
      wallMs: () => clock.now().wallMs(),
      monotonicMs: () => clock.now().monotonicMs(),
      sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal),
    };
    const sandbox = await startSandbox({
      operations: "all",
      clock: later,
      sims: 1,
      limits: { Credential: 1e9, Group: 1e9, Auth: 1e9 },
      ...options.sandbox,
    });
    const heard: ((body: string) => number)[] = [];
    const receiver = options.withWebhook
      ? await startPlatform((request, response) => response.writeHead(heard[0]?.(request.text) ?? 500).end())
      : undefined;
    const harness = new RotationHarness(options, sandbox, temporaryFolder(), receiver);
    clock.now = () => harness.clock;
    heard.push((body) => {
      const status = harness.answers.shift() ?? 204;
      const { data } = JSON.parse(body) as { data: { credentials: { key: string } } };
      if (status === 204) harness.heard.push(data.credentials.key);
      return status;
    });
    onTestFinished(async () => {
      await Promise.all(harness.#clients.map((client) => client.close()));
      await sandbox.close();
      await receiver?.[Symbol.asyncDispose]();
    });
    return harness;
  }

  get sinkFile(): string {
    return join(this.folder, "sink");
  }

  /** What the file has been handed; undefined before. */
  get handed(): string | undefined {
    try {
      return readFileSync(this.sinkFile, "utf8");
    } catch {
      return undefined;
    }
  }

  /** Puts the set that is there before into the account, a while ago. */
  makeOldSet(credentialsId: string = this.rotation.credentialsId): void {
    this.sandbox.state.credentials.create(credentialsId, { type: "psk", credentials: { key: oldSecret } });
    this.clock.pass(5_000);
  }

  /** As of a process that has just started. */
  context(between: Between = (_, thing) => thing): RotationContext {
    const { place } = this.#options;
    const client = between("client", this.#client());
    const webhooks = webhookSender({ clock: systemClock, userAgent: "simfleet/test" });
    onTestFinished(() => webhooks.close());
    const sinkDeps = {
      commands: between("command", commandRunner({ env: { PATH: process.env.PATH }, clock: systemClock })),
      readSecretFile,
      webhooks: between("webhook", webhooks),
      pod: { env: {} },
    };
    return {
      log: rotationLog({ redis: between("redis", place.redis), keys: place.keys, bounds: keptBounds }),
      feed: this.feed,
      seal: openSeal({ key: this.key, previousKey: undefined }),
      clock: this.clock,
      guard: noGuard,
      origins: sinkDeps,
      handOver: (sink, handover, signal) => handOver(sink, handover, sinkDeps, signal),
      rotations: { [this.rotation.name]: this.rotation },
      accountFor: () => this.account(client),
    };
  }

  account(client: RotationAccount["client"] = this.#client()): RotationAccount {
    const operations = Object.fromEntries(
      Object.entries(deployment.operations).filter(([id]) => !this.#options.without?.some((one) => one === id)),
    );
    return { client, deployment: { ...deployment, operations }, maxSets: 100 };
  }

  #client(): PlatformClient {
    const client = clientFor(this.sandbox.url, {
      profile: { name: this.profile, coverage: "g", wording: "sims" },
      credentials: () => [{ kind: "auth-key", authKeyId: "keyId-sandbox", authKey: new Secret("secret-sandbox") }],
      clock: this.clock,
    });
    this.#clients.push(client);
    return client;
  }

  async begin(context: RotationContext = this.context()): Promise<RotationRecord> {
    const account = context.accountFor(this.profile);
    const record = await context.log.record(this.rotation.name);
    const present = { account, record, nowMs: this.clock.wallMs() };
    return context.log.begin(await planRotation(this.rotation, present, new AbortController().signal));
  }

  work(context: RotationContext = this.context()): Promise<WorkResult> {
    const emit = ({ message }: Incident): unknown => this.incidents.push(message);
    return workOnRotations(this.profile, context, { signal: new AbortController().signal, emit });
  }

  /** Works, and lets the time pass that it asks for, until the rotation is over or waits for something else. */
  async workToEnd(context: RotationContext = this.context(), maxWaits = 60): Promise<RotationRecord> {
    for (let waits = 0; ; waits += 1) {
      const result = await this.work(context);
      const record = await this.record();
      if (result.kind !== "postponed" || waits >= maxWaits) return record;
      if (record.waitsFor === "confirmation" || record.waitsFor === "reference") return record;
      this.clock.pass(result.delayMs);
    }
  }

  async record(): Promise<RotationRecord> {
    const record = await rotationLog({ ...this.#options.place, bounds: keptBounds }).record(this.rotation.name);
    if (record === undefined) throw new Error("no rotation was begun");
    return record;
  }

  /** The secret that lies sealed; undefined where none does. */
  async sealed(): Promise<string | undefined> {
    const { rotationId, sealed } = await this.record();
    if (sealed === undefined) return undefined;
    const { key } = await openSeal({ key: this.key, previousKey: undefined }).open(rotationId, sealed);
    const value = key?.reveal();
    key?.forget();
    return value;
  }

  /** Types and telling fields of the profile's events, oldest first. */
  async events(): Promise<{ type: string; fields: Readonly<Record<string, string>> }[]> {
    const { events } = await this.feed.newest({ profile: this.profile }, { limit: 1_000 });
    return events.toReversed().map(({ type, fields }) => ({ type, fields }));
  }

  /** Ids of the account's sets, and the secret of each. */
  get sets(): Record<string, unknown> {
    const { credentials } = this.sandbox.state;
    return Object.fromEntries(
      credentials.all.map(({ credentialsId }) => [credentialsId, credentials.secretOf(credentialsId)?.key]),
    );
  }

  /** Has two groups name a set, in every way there is. */
  nameInGroups(credentialsId: string): void {
    const { groups } = this.sandbox.state;
    const [first = "", second = ""] = groups.all.map(({ groupId }) => groupId);
    const put = (groupId: string, namespace: string, entries: Readonly<Record<string, unknown>>): void => {
      const list = Object.entries(entries).map(([key, value]) => ({ key, value }));
      groups.configure(groupId, namespace, list);
    };
    put(first, "SoracomFunnel", { enabled: true, credentialsId, destination: { url: "x" } });
    put(first, "SoracomBeam", {
      "mqtt://beam:1883": { custom: [{ $credentialsId: credentialsId }], name: credentialsId },
    });
    put(second, "SoracomFunk", { credentialsId: "another", nested: { credentialsId } });
  }

  /** Has a group name a set by a placeholder. */
  nameByPlaceholder(name: string): void {
    const groupId = this.sandbox.state.groups.all[2]?.groupId ?? "";
    this.sandbox.state.groups.configure(groupId, "SoracomBeam", [{ key: "tcp", value: { $credentialsId: name } }]);
  }

  /** What the groups are configured with. */
  get configurations(): unknown[] {
    return this.sandbox.state.groups.all.map(({ configuration }) => configuration);
  }
}
