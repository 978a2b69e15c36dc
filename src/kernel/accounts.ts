/**
 * The part of the composition root that builds, for each profile, what talks to the platform: its client, the watch of
 * its credentials, and the announcement to other processes of the AuthKey in use. Everything is created on first use of
 * a profile.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { ClientEvent } from "#api/client-options.ts";
import { PlatformClient } from "#api/client.ts";
import { type Config, type ProfileConfig, requirePlatform } from "#config/config.ts";
import { type CredentialWatch, watchCredentials } from "#config/secrets/credentials.ts";
import { backoffMs } from "#core/backoff.ts";
import { PlatformError, messageOf } from "#core/errors.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import { scrubSecrets } from "#core/scrub-secrets.ts";
import { type Clock, inTime } from "#core/time.ts";
import type { EventType } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import { keptFields, secretFields } from "#fleet/sim/sim-fields.ts";
import { fieldsOfOperations } from "#fleet/sim-operation/sim-operation.ts";
import { keyColumnOf, type Wording } from "#fleet/sim/sim.ts";
import type { Credentials } from "#fleet/credentials.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { getSim, getSimStatusHistory } from "#api/operations/described.ts";
import type { Account } from "#api/account.ts";
import type { Limiter } from "#limiter/limiter.ts";
import type { AuthKeyUsers } from "#engine/authkey-users.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { noteFleet } from "#engine/sharing.ts";
import type { Logger } from "#telemetry/logger.ts";
import { callTime, type Timing } from "#core/timings.ts";

const reloadBackoff = { baseMs: 500, capMs: 30_000 };
const leaveMs = 500;
const noteMs = 5_000;
const ourHost = hostname().replace(/[^A-Za-z0-9_-]/g, "-");

interface Deps extends Pick<StoreDeps, "redis" | "keys"> {
  readonly config: Config;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly feed: Feed;
  readonly users: AuthKeyUsers;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
}

export class Accounts {
  /** Identifies this process to users and to other processes. */
  readonly worker = `${ourHost}-${process.pid}-${randomBytes(2).toString("hex")}`;
  readonly #deps: Deps;
  readonly #open = new Map<string, OpenAccount>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * The account of a profile, created on first use.
   * @throws ConfigError if the profile lacks credentials or an address
   */
  account(profile: string): Account {
    return this.#opened(profile).account;
  }

  /** Reloads changed secret files immediately and returns the AuthKey that is in use afterward. */
  checkSecrets(profile: string): string | undefined {
    const opened = this.#opened(profile);
    opened.watch.poll();
    return opened.authKeyInUse();
  }

  /** Announces to other processes, from now on, which AuthKey this process uses for the profile. */
  async announce(profile: string): Promise<void> {
    await this.#opened(profile).announce();
  }

  /** How far the platform's clock is ahead, by its last response, ms; NaN while it is not known. */
  clockAheadMs(profile: string): number {
    return this.#opened(profile).clockAheadMs;
  }

  /** Authenticates with each AuthKey separately if there are two; a fault is what the platform threw. */
  async proveAuthKeys(profile: string): Promise<{ readonly authKeyId: string; readonly fault: unknown }[]> {
    const { watch, account } = this.#opened(profile);
    const keys = watch.forms().filter((form) => form.kind === "auth-key");
    const proofs: { authKeyId: string; fault: unknown }[] = [];
    if (keys.length < 2) return proofs;
    for (const key of keys) {
      const { authKeyId } = key;
      const fault = await account.client.prove(key).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      proofs.push({ authKeyId, fault });
    }
    return proofs;
  }

  #opened(profile: string): OpenAccount {
    let opened = this.#open.get(profile);
    if (opened === undefined) {
      opened = new OpenAccount(profile, this.worker, this.#deps);
      this.#open.set(profile, opened);
      const { lifecycle } = this.#deps;
      lifecycle.onStop(`client of ${profile}`, () => this.#open.get(profile)?.close());
    }
    return opened;
  }
}

class OpenAccount {
  readonly account: Account;
  readonly watch: CredentialWatch;
  clockAheadMs = Number.NaN;
  readonly #profile: string;
  readonly #worker: string;
  readonly #deps: Deps;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** AuthKeys whose rejection was reported. */
  readonly #refused = new Set<string>();
  /** Notes who the profile belongs to, as last seen. */
  #noteOwner = (): Promise<void> => Promise.resolve();
  #noted: Promise<void> = Promise.resolve();
  #announced: Promise<Awaited<ReturnType<AuthKeyUsers["announce"]>>> | undefined;

  constructor(profile: string, worker: string, deps: Deps) {
    this.#profile = profile;
    this.#worker = worker;
    this.#deps = deps;
    this.#log = deps.logger.child({ profile });
    requirePlatform(deps.config, profile);
    const configured = deps.config.profiles[profile];
    if (configured === undefined) throw new Error(`profile ${profile} vanished`);
    this.watch = watchCredentials(configured, {
      reloaded: () => this.#reloaded(),
      kept: (reason) => this.#kept(reason),
    });
    this.account = this.#makeAccount(configured);
  }

  get #client(): PlatformClient {
    return this.account.client;
  }

  /** The AuthKey of the current pair, or else the one that would be used first. */
  authKeyInUse(): string | undefined {
    const form = this.#client.inUse ?? this.watch.forms()[0];
    return form?.kind === "auth-key" ? form.authKeyId : undefined;
  }

  async announce(): Promise<void> {
    this.#announced ??= this.#deps.users.announce(this.#profile, this.#worker, () => this.authKeyInUse());
    await this.#announced;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the app is closing"));
    this.watch.stop();
    await this.#client.close();
    const leaving = this.#announced?.then(({ leave }) => leave());
    // If Redis is unreachable, the announcement expires by itself.
    if (leaving !== undefined) await inTime(this.#deps.clock, leaveMs, leaving);
  }

  #makeAccount({ profile: settings, language }: ProfileConfig): Account {
    const { config, clock, limiter, userAgent } = this.#deps;
    const { deployment, inventory, limits, tokenTtlSeconds } = config;
    const client = new PlatformClient({
      profile: settings,
      brand: deployment.brand,
      language,
      endpoints: deployment.endpoints,
      ttlField: deployment.ttlField,
      ttlSeconds: tokenTtlSeconds,
      credentials: () => this.watch.forms(),
      renewToken: deployment.operations.renewToken,
      tokenVerification: config.tokenKey,
      periodMs: limits.periodMs,
      connections: limits.connections,
      transport: { proxy: config.proxy },
      clock,
      // No response comes before it is known which inventory it belongs to.
      permits: { acquire: (request) => this.#noted.then(() => limiter.acquire(request)) },
      quotaScope: deployment.quota.scope,
      userAgent,
      // Hosts that share an address without a configured name learn of each other's calls from the quota headers.
      egress: limits.egress ?? ourHost,
      onEvent: (event) => this.#heard(event),
    });
    return {
      client,
      identify: async (signal) => {
        await client.assertAddress(signal);
        await this.#noteOwner();
      },
      wording: settings.wording,
      selection: {
        fields: keptFields(inventory.fields, {
          keyColumn: keyColumnOf(settings.wording),
          ofOperations: fieldsOfOperations(deployment.simOperations.values()),
        }),
        secrets: new Set([...secretFields, ...inventory.secrets]),
        places: { ...deployment.recordPaths },
      },
      pageLimit: inventory.limit,
      readSim: readable(deployment.operations.getSim, settings.wording, getSim),
      readStatusHistory: readable(deployment.operations.getSimStatusHistory, settings.wording, getSimStatusHistory),
    };
  }

  #heard(event: ClientEvent): void {
    switch (event.type) {
      case "answered":
        this.clockAheadMs = event.clockAheadMs;
        if (callTime.hasSubscribers) publishCallTime(event);
        break;
      case "throttled":
        this.#log.warn(event, "the platform responded with 429");
        break;
      case "renewal-failed":
        this.#log.warn({ type: event.type, reason: event.reason }, `authentication failed: ${event.message}`);
        break;
      case "renewed":
        this.#log.debug(event, "authenticated");
        this.#renewed();
        break;
      case "quota-owner":
        this.#noteOwner = async () => {
          await this.#deps.limiter.assign(this.#profile, event.owner);
          await noteFleet(this.#deps, { ...event, profile: this.#profile }, this.#deps.config);
        };
        // Calls wait no longer for a Redis that does not answer: a stop must not wait for it either.
        this.#noted = inTime(this.#deps.clock, noteMs, this.#noteOwner()).then(
          () => undefined,
          (thrown: unknown) => {
            this.#log.warn({ reason: messageOf(thrown) }, "the operator of the profile could not be noted");
          },
        );
        break;
      case "auth-key-refused":
        this.#keyRefused(event.authKeyId, event.message);
        break;
      default:
    }
  }

  #renewed(): void {
    const { inUse } = this.#client;
    if (inUse?.kind === "auth-key") this.#refused.delete(inUse.authKeyId);
    if (inUse !== undefined) this.watch.proven(inUse);
    // Others may be waiting for this process to stop using its AuthKey.
    if (this.#announced === undefined) void this.announce().catch(() => undefined);
    else void this.#announced.then(({ now }) => now());
  }

  #keyRefused(authKeyId: string, reason: string): void {
    if (this.#refused.has(authKeyId)) return;
    this.#refused.add(authKeyId);
    this.#log.warn({ authKeyId, reason }, "the platform rejected an AuthKey");
    this.#emit("authkey.refused", { authKeyId, reason });
  }

  #reloaded(): void {
    this.#log.info("a secret file has changed: authenticating with its new content");
    this.#emit("secret.reloaded", {});
    void this.#renewNow(this.watch.forms());
  }

  #kept(reason: string): void {
    this.#log.warn({ reason }, "a secret file has changed but cannot be loaded; the previous secret stays in use");
    this.#emit("secret.kept", { reason });
  }

  /** Retries until it succeeds, is rejected permanently, or newer credentials have replaced these. */
  async #renewNow(forms: readonly Credentials[]): Promise<void> {
    const { signal } = this.#closing;
    for (let attempt = 1; !signal.aborted && this.watch.forms()[0] === forms[0]; attempt += 1) {
      try {
        await this.#client.renewNow(signal);
        return;
      } catch (thrown) {
        if (thrown instanceof PlatformError && thrown.disposition === "never") return; // already emitted as an event
        const waitMs = thrown instanceof PlatformError ? (thrown.retryAfterMs ?? 0) : 0;
        await this.#deps.clock.sleep(waitMs + backoffMs(reloadBackoff, attempt), signal).catch(() => undefined);
      }
    }
  }

  #emit(type: EventType, fields: Readonly<Record<string, string>>): void {
    const { feed } = this.#deps;
    // The platform may echo a secret in its message.
    const clean = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, scrubSecrets(value)]));
    feed.emit({ type, profile: this.#profile, fields: { worker: this.#worker, ...clean } }).catch((thrown: unknown) => {
      this.#log.warn({ type, reason: messageOf(thrown) }, "an event could not be written");
    });
  }
}

function publishCallTime({ operation, status, durationMs }: Extract<ClientEvent, { type: "answered" }>): void {
  callTime.publish({
    seconds: durationMs / 1_000,
    labels: { endpoint: operation, status: String(status) },
  } satisfies Timing);
}

/** A read of one SIM, if the deployment describes it by the id that the profile's files use. */
function readable<T>(
  described: DeploymentOperation | undefined,
  wording: Wording,
  make: (description: DeploymentOperation) => T,
): T | undefined {
  return described?.path.includes(`{${keyColumnOf(wording)}}`) ? make(described) : undefined;
}
