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
import type { Lifecycle } from "#core/process/lifecycle.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";
import { type Clock, every, inTime } from "#core/time.ts";
import type { EventType } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import { secretFields } from "#fleet/sim/sim-fields.ts";
import { fieldsToKeep } from "#fleet/sim-operation/sim-operation.ts";
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
const sayEveryMs = 2_500;
const leaveMs = 500;
const noteMs = 5_000;
const ourHost = hostname().replace(/[^A-Za-z0-9_-]/g, "-");

interface AccountDeps extends Pick<StoreDeps, "redis" | "keys"> {
  /** Identifies this process to users and to other processes. */
  readonly worker: string;
  readonly config: Config;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly feed: Feed;
  readonly users: AuthKeyUsers;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
}

/** The accounts of a process; each is opened on first use. */
export function openAccounts(given: Omit<AccountDeps, "worker">) {
  const worker = `${ourHost}-${process.pid}-${randomBytes(2).toString("hex")}`;
  const deps = { ...given, worker };
  const opened = new Map<string, OpenAccount>();
  /** @throws ConfigError if the profile lacks credentials or an address */
  const of = (profile: string): OpenAccount => {
    const account = opened.get(profile) ?? new OpenAccount(profile, deps);
    if (!opened.has(profile)) deps.lifecycle.onStop(`client of ${profile}`, () => account.close());
    opened.set(profile, account);
    return account;
  };
  return {
    worker,
    of,
    /** Writes an event of this process about the default profile. */
    emit: (type: EventType, fields: EventFields) => emit({ type, profile: given.config.profile, fields }, deps),
    /** Tells other processes, from now on, which AuthKey this process uses for a profile. */
    announce: async (profile: string): Promise<void> => {
      try {
        await of(profile).announce();
      } catch (thrown) {
        deps.logger.warn({ profile }, messageOf(thrown));
      }
    },
  };
}

type EventFields = Readonly<Record<string, string>>;

/** An event that cannot be written is logged. */
async function emit(
  { type, profile, fields }: { readonly type: EventType; readonly profile: string; readonly fields: EventFields },
  { feed, worker, logger }: AccountDeps,
): Promise<void> {
  // The platform may echo a secret in its message.
  const clean = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, scrubSecrets(value)]));
  await feed.emit({ type, profile, fields: { worker, ...clean } }).catch((thrown: unknown) => {
    logger.warn({ profile, type, reason: messageOf(thrown) }, "an event could not be written");
  });
}

class OpenAccount {
  readonly account: Account;
  /** How far the platform's clock is ahead, by its last response, ms; NaN while it is not known. */
  clockAheadMs = Number.NaN;
  readonly #watch: CredentialWatch;
  readonly #profile: string;
  readonly #deps: AccountDeps;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** AuthKeys whose rejection was reported. */
  readonly #rejected = new Set<string>();
  /** Notes who the profile belongs to, as last seen. */
  #noteOwner = (): Promise<void> => Promise.resolve();
  #noted: Promise<void> = Promise.resolve();
  #stopSaying: (() => void) | undefined;

  constructor(profile: string, deps: AccountDeps) {
    this.#profile = profile;
    this.#deps = deps;
    this.#log = deps.logger.child({ profile });
    const configured = requirePlatform(deps.config, profile);
    this.#watch = watchCredentials(configured, {
      reloaded: () => this.#reloaded(),
      kept: (reason) => this.#kept(reason),
    });
    this.account = this.#makeAccount(configured);
  }

  get #client(): PlatformClient {
    return this.account.client;
  }

  /** Reloads changed secret files immediately and returns the AuthKey that is in use afterward. */
  checkSecrets(): string | undefined {
    this.#watch.poll();
    return this.#authKeyInUse();
  }

  /** Authenticates with each AuthKey separately if there are two; a fault is what the platform threw. */
  async proveAuthKeys(): Promise<{ readonly authKeyId: string; readonly fault: unknown }[]> {
    const keys = this.#watch.forms().filter((form) => form.kind === "auth-key");
    const proofs: { authKeyId: string; fault: unknown }[] = [];
    if (keys.length < 2) return proofs;
    for (const key of keys) {
      const fault = await this.#client.prove(key).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      proofs.push({ authKeyId: key.authKeyId, fault });
    }
    return proofs;
  }

  /** The AuthKey of the current pair, or else the one that would be used first. */
  #authKeyInUse(): string | undefined {
    const form = this.#client.inUse ?? this.#watch.forms()[0];
    return form?.kind === "auth-key" ? form.authKeyId : undefined;
  }

  async announce(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { users, worker } = this.#deps;
    const say = (): Promise<void> => users.say(this.#profile, worker, this.#authKeyInUse());
    this.#stopSaying ??= every(sayEveryMs, () => void say());
    await say();
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the app is closing"));
    this.#watch.stop();
    await this.#client.close();
    if (this.#stopSaying === undefined) return;
    this.#stopSaying();
    const { users, worker, clock } = this.#deps;
    // If Redis is unreachable, the announcement expires by itself.
    await inTime(clock, leaveMs, users.say(this.#profile, worker, undefined));
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
      credentials: () => this.#watch.forms(),
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
        fields: fieldsToKeep(inventory.fields, settings.wording, deployment.simOperations),
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
        if (callTime.hasSubscribers) {
          const labels = { endpoint: event.operation, status: String(event.status) };
          callTime.publish({ seconds: event.durationMs / 1_000, labels } satisfies Timing);
        }
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
      case "auth-key-rejected":
        this.#keyRejected(event.authKeyId, event.message);
        break;
      default:
    }
  }

  #renewed(): void {
    const { inUse } = this.#client;
    if (inUse?.kind === "auth-key") this.#rejected.delete(inUse.authKeyId);
    if (inUse !== undefined) this.#watch.proven(inUse);
    // Others may be waiting for this process to stop using its AuthKey.
    void this.announce();
  }

  #keyRejected(authKeyId: string, reason: string): void {
    if (this.#rejected.has(authKeyId)) return;
    this.#rejected.add(authKeyId);
    this.#log.warn({ authKeyId, reason }, "the platform rejected an AuthKey");
    this.#emit("authkey.rejected", { authKeyId, reason });
  }

  #reloaded(): void {
    this.#log.info("a secret file has changed: authenticating with its new content");
    this.#emit("secret.reloaded", {});
    void this.#renewNow(this.#watch.forms());
  }

  #kept(reason: string): void {
    this.#log.warn({ reason }, "a secret file has changed but cannot be loaded; the previous secret stays in use");
    this.#emit("secret.kept", { reason });
  }

  /** Retries until it succeeds, is rejected permanently, or newer credentials have replaced these. */
  async #renewNow(forms: readonly Credentials[]): Promise<void> {
    const { signal } = this.#closing;
    for (let attempt = 1; !signal.aborted && this.#watch.forms()[0] === forms[0]; attempt += 1) {
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

  #emit(type: EventType, fields: EventFields): void {
    void emit({ type, profile: this.#profile, fields }, this.#deps);
  }
}

/** A read of one SIM, if the platform definition describes it by the id that the profile's files use. */
function readable<T>(
  described: DeploymentOperation | undefined,
  wording: Wording,
  make: (description: DeploymentOperation) => T,
): T | undefined {
  return described?.path.includes(`{${keyColumnOf(wording)}}`) ? make(described) : undefined;
}
