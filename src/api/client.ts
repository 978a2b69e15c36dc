/**
 * The client of the platform's HTTP API for one profile. A call acquires a slot, then the pair, then a permit, and is
 * then sent. The permit comes last, so that a counted call never waits for anything local. The client retries only
 * once, after a 401 with a new pair; the queue handles all other retries.
 */
import { PlatformError } from "#core/errors.ts";
import type { Credentials } from "#fleet/credentials.ts";
import type { Permit, PermitRequest } from "#limiter/permit.ts";
import { quotaWait, type Timing } from "#core/timings.ts";
import { traced, tracing } from "#core/traced.ts";
import { type AnswerHeaders, headerNames } from "./http/headers.ts";
import type { ClientEvent, CallOptions, PlatformClientOptions } from "./client-options.ts";
import { type Around, Attempt } from "./http/attempt.ts";
import { addressFor, authAddress, routesOf } from "./auth/coverage.ts";
import { authOperation } from "./operations/auth.ts";
import { type Operation, bucketOf, quotaOwner, type Target, targetOf } from "./operations/operation.ts";
import type { ListInput } from "./operations/sims.ts";
import { type Page, readPages } from "./pages.ts";
import { PairKeeper } from "./auth/pair-keeper.ts";
import { type Pair, type PairSource, forget, pairSource } from "./auth/pair.ts";
import { Slots } from "#core/slots.ts";
import { tokenReader } from "./auth/token-claims.ts";
import { type Exchange, openTransport, type Transport } from "./http/transport.ts";
import type { Address } from "./http/address.ts";
import { type Answer, readAnswer } from "./http/response.ts";

/** Address of a call and the headers it carries: name, value, name, value… */
interface Route {
  readonly address: Address;
  readonly headers: readonly string[];
  /** The same, for calls with a body. */
  readonly bodyHeaders: readonly string[];
  /** Who has the quotas that calls on it spend. */
  readonly owner: string;
}

interface Reply<O> {
  readonly value: O;
  readonly headers: AnswerHeaders;
}

export class PlatformClient {
  readonly #options: PlatformClientOptions;
  readonly #names: ReturnType<typeof headerNames>;
  readonly #routes: ReturnType<typeof routesOf>;
  readonly #slots: Slots;
  readonly #transport: Transport;
  readonly #source: PairSource;
  readonly #keeper: PairKeeper;
  readonly #emit: (event: ClientEvent) => void;
  readonly #around: Around;
  readonly #plainHeaders: readonly string[];
  /** Route of calls without a pair. */
  readonly #openRoute: Route;
  #pairRoute: { readonly pair: Pair; readonly route: Route } | undefined;

  /** @throws ConfigError if an address has a query */
  constructor(options: PlatformClientOptions) {
    const { profile, clock, connections, userAgent, tokenVerification: verification } = options;
    this.#options = options;
    this.#emit = emitter(options.onEvent);
    this.#names = headerNames(options.brand);
    this.#around = { clock, names: this.#names, periodMs: options.periodMs ?? 60_000, emit: this.#emit };
    this.#routes = routesOf(options.endpoints);
    this.#slots = new Slots(connections);
    // One connection more than slots, so that an early renewal does not wait for a long list page.
    this.#transport = openTransport({ ...options.transport, connections: connections + 1, clock });
    const { language } = this.#names;
    this.#plainHeaders = ["user-agent", userAgent, "accept", "application/json", language, options.language];
    this.#openRoute = this.#routeTo(authAddress(this.#routes, profile.coverage), [], profile.name);
    this.#source = pairSource(options, {
      tokens: verification && tokenReader(verification, this.#transport, userAgent),
      emit: this.#emit,
      send: (input) => this.#sendAhead(authOperation, input, this.#openRoute),
      callWith: (pair, operation, input) => this.#sendAhead(operation, input, this.#resolveRoute(pair)),
    });
    this.#keeper = new PairKeeper({ clock, emit: this.#emit, source: this.#source, chance: options.chance });
  }

  /**
   * Makes one call.
   * @returns the response body as parsed by the operation's output schema
   * @throws PlatformError; errors of the permits; the signal's reason if it aborts before the request is sent. A
   *   request that was sent is never aborted: it ends with its response or its timeout
   */
  async call<I, O>(operation: Operation<I, O>, input: I, options: CallOptions = {}): Promise<O> {
    return (await this.#reply(operation, input, options)).value;
  }

  /**
   * Iterates over a list; `input.lastEvaluatedKey` is the start. Fetches each page on demand.
   * @throws as `call`, and PLATFORM_RESPONSE_INVALID if the platform returns a key twice
   */
  pages<I extends ListInput, O>(
    operation: Operation<I, O>,
    input: I,
    options: CallOptions = {},
  ): AsyncGenerator<Page<O>, void, undefined> {
    return readPages({
      operation: operation.id,
      startKey: input.lastEvaluatedKey,
      nextKeyHeader: this.#names.nextKey,
      fetchPage: (lastEvaluatedKey) => this.#reply(operation, { ...input, lastEvaluatedKey }, options),
    });
  }

  /**
   * Acquires the permit of one call, also of one that another program makes through this process, after `lend`.
   * @param operation with an `id` of its own for each quota
   * @param route of the owner of its quota; by default that of the current pair
   * @throws whatever `acquire` throws
   */
  async attempt(
    operation: Pick<Operation<never, unknown>, "id" | "quota">,
    { urgency = "normal", pace, backlog, signal }: CallOptions,
    route: Pick<Route, "owner"> = this.#pairRoute?.route ?? this.#openRoute,
  ): Promise<Attempt> {
    const bucket = bucketOf(operation, route.owner, this.#options.egress);
    const permit = await this.#permit({ bucket, urgency, pace, backlog, signal });
    return new Attempt(permit, this.#around, { operation: operation.id, bucket });
  }

  /**
   * Lends address and pair to one such call. The headers (name, value, name, value) are not to be kept; `end` takes the
   * status of the response, and returns whether the call can be sent again with another pair: after a 401.
   * @throws as `call`
   */
  async lend(signal?: AbortSignal) {
    const pair = this.#keeper.ready() ?? (await this.#keeper.obtain(signal));
    const { apiKey, token } = this.#names;
    return {
      address: this.#resolveRoute(pair).address,
      headers: [apiKey, pair.apiKey.reveal(), token, pair.token.reveal()],
      end: (status: number): boolean => {
        if (status === 401) return this.#keeper.invalidate(pair);
        if (status < 500 && status !== 429) this.#keeper.accepted(pair);
        return false;
      },
    };
  }

  /** Who the credentials belong to; authenticates if there is no pair. */
  async whoAmI(signal?: AbortSignal): Promise<Principal> {
    return toPrincipal(await this.#keeper.obtain(signal));
  }

  /** @throws PlatformError PLATFORM_FORBIDDEN if no address has the account's coverage, CONFIG_INVALID if two have */
  async assertAddress(signal?: AbortSignal): Promise<void> {
    this.#resolveRoute(await this.#keeper.obtain(signal));
  }

  /** The credentials that the current pair was obtained with; undefined if there is no pair. */
  get inUse(): Credentials | undefined {
    return this.#keeper.held?.madeWith;
  }

  /**
   * Authenticates once with credentials of any kind to verify them; calls continue with the current pair.
   * @throws PlatformError PLATFORM_UNAUTHORIZED if the platform rejects them, and as `whoAmI`
   */
  async prove(form: Credentials): Promise<Principal> {
    const pair = await this.#source.authenticateWith(form);
    forget(pair);
    return toPrincipal(pair);
  }

  /**
   * Authenticates immediately with the current credentials, so that an owner who changed them can verify them. Calls
   * continue with the current pair meanwhile, and if the authentication fails.
   * @throws as `whoAmI`
   */
  async renewNow(signal?: AbortSignal): Promise<Principal> {
    return toPrincipal(await this.#keeper.renewNow(signal));
  }

  /** Waits for calls in flight, closes the connections and forgets the pair. */
  async close(): Promise<void> {
    await this.#transport.close();
    this.#keeper.close();
    this.#pairRoute = undefined;
  }

  async #reply<I, O>(operation: Operation<I, O>, input: I, options: CallOptions): Promise<Reply<O>> {
    const target = targetOf(operation, input);
    const turn = this.#slots.enter(operation.id, options.signal);
    if (turn !== undefined) await turn;
    try {
      return operation.authenticated
        ? await this.#sendWithPair(operation, target, options)
        : await this.#send(operation, target, { route: this.#openRoute, options });
    } finally {
      this.#slots.leave();
    }
  }

  async #sendWithPair<I, O>(operation: Operation<I, O>, target: Target, options: CallOptions): Promise<Reply<O>> {
    for (let isFirst = true; ; isFirst = false) {
      const pair = this.#keeper.ready() ?? (await this.#keeper.obtain(options.signal));
      try {
        const reply = await this.#send(operation, target, { route: this.#resolveRoute(pair), options });
        this.#keeper.accepted(pair);
        return reply;
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        if (thrown.code === "PLATFORM_REJECTED" || thrown.code === "PLATFORM_FORBIDDEN") this.#keeper.accepted(pair);
        if (thrown.code !== "PLATFORM_UNAUTHORIZED" || !this.#keeper.invalidate(pair)) throw thrown;
        if (!isFirst) throw refusedTwice(thrown);
        await options.afterUnauthorized?.();
      }
    }
  }

  /** Bypasses the slots: calls that wait for the pair may hold all of them. */
  async #sendAhead<I, O>(operation: Operation<I, O>, input: I, route: Route): Promise<O> {
    const how = { route, options: { urgency: "priority" } } as const;
    return (await this.#send(operation, targetOf(operation, input), how)).value;
  }

  /**
   * Sends one call once: permit, exchange, parsing of the response.
   * @throws PlatformError; the signal's reason if it aborts before the request is sent; whatever `acquire` throws
   */
  async #send<I, O>(
    operation: Operation<I, O>,
    { path, body }: Target,
    { route, options }: { readonly route: Route; readonly options: CallOptions },
  ): Promise<Reply<O>> {
    const { address } = route;
    const headers = body === undefined ? route.headers : route.bodyHeaders;
    const watcher = await this.attempt(operation, options, route);
    const { id, method } = operation;
    let answer;
    options.onSending?.();
    try {
      if (options.beforeSending !== undefined) await options.beforeSending();
      // Without the signal: a slot guarantees a connection, so the request is sent immediately.
      answer = await this.#exchange({ operation: id, address, method, path, headers, body, watcher });
    } catch (thrown) {
      watcher.failed();
      throw thrown;
    }
    const { bucket, rateLimitedMs, retryAfterMs } = watcher;
    const placed = { ...answer, bucket, host: address.host, rateLimitedMs, retryAfterMs };
    return { value: readAnswer(operation, placed), headers: answer.headers };
  }

  #exchange(exchange: Exchange): Promise<Answer> {
    if (tracing() === undefined) return this.#transport.exchange(exchange);
    const { operation, method, address } = exchange;
    return traced(
      () => {
        const { hostname, port, protocol } = new URL(address.origin);
        const attributes = {
          "http.request.method": method,
          "server.address": hostname,
          "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
          "simfleet.endpoint": operation,
        };
        return { name: `${method} ${operation}`, kind: "client", attributes };
      },
      async (span) => {
        const answer = await this.#transport.exchange(exchange);
        span?.set({ "http.response.status_code": answer.status });
        if (answer.status >= 400) span?.fail(String(answer.status));
        return answer;
      },
    );
  }

  async #permit(request: PermitRequest): Promise<Permit> {
    const { clock, permits } = this.#options;
    if (!quotaWait.hasSubscribers) return permits.acquire(request);
    const beganMs = clock.monotonicMs();
    const publish = (moreMs = 0): void => {
      const seconds = (clock.monotonicMs() - beganMs + moreMs) / 1_000;
      quotaWait.publish({ seconds, labels: { quota: request.bucket } } satisfies Timing);
    };
    try {
      const permit = await permits.acquire(request);
      publish();
      return permit;
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.bucket !== undefined) publish(thrown.retryAfterMs);
      throw thrown;
    }
  }

  #resolveRoute(pair: Pair): Route {
    if (this.#pairRoute?.pair === pair) return this.#pairRoute.route;
    const { profile, quotaScope } = this.#options;
    const address = addressFor(this.#routes, { configured: profile.coverage, claimed: pair.coverageTypes });
    const { apiKey, token } = this.#names;
    const owner = quotaScope === "principal" ? profile.name : quotaOwner(pair.operatorId, address);
    const route = this.#routeTo(address, [apiKey, pair.apiKey.reveal(), token, pair.token.reveal()], owner);
    this.#pairRoute = { pair, route };
    const fleet = `${pair.operatorId}@${address === this.#routes.jp ? "jp" : "g"}.${profile.wording}`;
    this.#emit({ type: "quota-owner", owner, fleet, isRoot: pair.userName === undefined });
    return route;
  }

  #routeTo(address: Address, pairHeaders: readonly string[], owner: string): Route {
    const headers = [...this.#plainHeaders, ...pairHeaders];
    return { address, headers, bodyHeaders: [...headers, "content-type", "application/json"], owner };
  }
}

/** Pairs were valid until now, so something keeps revoking them: a transient problem, not bad credentials. */
function refusedTwice(refusal: PlatformError): PlatformError {
  const { operation, status, platformCode } = refusal;
  const message = `${operation}: the platform rejected two pairs of API key and token in a row, the second one new. Nothing was changed; try again.`;
  return new PlatformError("PLATFORM_UNAVAILABLE", message, { operation, status, platformCode });
}

/** A listener that throws must not turn a successful call into a failed one. */
function emitter(onEvent: ((event: ClientEvent) => void) | undefined): (event: ClientEvent) => void {
  return (event) => {
    try {
      onEvent?.(event);
    } catch {
      // An error in telemetry; the call continues.
    }
  };
}

// The identity that the credentials of a profile belong to.

/** The identity as reported by the platform, without the pair. */
type Principal = Pick<Pair, "operatorId" | "userName" | "coverageTypes" | "expiresAtMs">;

function toPrincipal({ operatorId, userName, coverageTypes, expiresAtMs }: Pair): Principal {
  return { operatorId, userName, coverageTypes, expiresAtMs };
}
