/**
 * One HTTP exchange, from request to response: quota, then fault, then pair, then the operation. It keeps no state
 * between calls. It is the hot path of every benchmark, so it does the minimum per call: no middleware, no schema,
 * header names computed once, one JSON.stringify. There are two tables of operations: those that the interface shows, and
 * those plus the ones that it only names, at the paths of a public deployment.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import type { Language } from "#fleet/profile.ts";
import { namedAccountOperations, shownAccountOperations } from "./account/account-operations.ts";
import { control, type Controls } from "./control.ts";
import type { FaultKind } from "./faults.ts";
import { answer, type Operation, type Result } from "./operation.ts";
import type { ApiGroup, OperationSet } from "./options.ts";
import type { Throttle } from "./quota.ts";
import { Refusal } from "./refusals.ts";
import { headerNamesOf, type HeaderNames, readRequest, type Received } from "./request.ts";
import { seededRandom, seededShare } from "./seeded.ts";
import { namedSimOperations, shownSimOperations } from "./sims/sim-operations.ts";

const maxBodyBytes = 65_536;
/** A change of the fleet may list every SIM. */
const maxControlBytes = 64 * 1_048_576;

const longText = 32_768;
const badGatewayPage = "<html><body><h1>502 Bad Gateway</h1></body></html>\n";

/** The faults that prevent the operation from running. */
const strikes: Partial<Record<FaultKind, (response: ServerResponse) => void>> = {
  reset: (response) => response.socket?.resetAndDestroy(),
  hang: () => undefined,
  "html-502": (response) =>
    response
      .writeHead(502, ["content-type", "text/html", "content-length", String(badGatewayPage.length)])
      .end(badGatewayPage),
  "empty-500": (response) => response.writeHead(500, ["content-length", "0"]).end(),
};

export class Exchange {
  readonly #parts: Controls;
  readonly #closing: AbortSignal;
  readonly #names: HeaderNames;
  readonly #random: () => number;

  /** @param closing aborts when the sandbox closes */
  constructor(parts: Controls, closing: AbortSignal) {
    this.#parts = parts;
    this.#closing = closing;
    this.#names = headerNamesOf(parts.options.brand);
    this.#random = seededRandom(parts.options.seed + 1);
  }

  /** Responds to one request. */
  receive(request: IncomingMessage, response: ServerResponse): void {
    const isControl = request.url?.startsWith("/_sandbox/") === true;
    readRequest(request, this.#names, isControl ? maxControlBytes : maxBodyBytes, (received) => {
      try {
        if (isControl) deliver(response, control(this.#parts, received));
        else this.#call(received, response);
      } catch {
        response.destroy(); // the worker of the demo runs in this process
      }
    });
  }

  #call(received: Received, response: ServerResponse): void {
    const { accounts, faults, options, state, throttle } = this.#parts;
    const { callerIp, language, method, path } = received;
    const found = locate(options.operations, path);
    const name = found?.byMethod.get(method)?.name;
    state.countCall(name ?? "none");
    if (found?.group === undefined) return this.#run(received, response, { found });
    if (throttle.isSpent(found.group, callerIp)) {
      const headers = this.#quotaHeaders(throttle.refuse(found.group, callerIp));
      return this.#send(response, { ...refused(new Refusal("throttled"), language), headers });
    }
    const fault = faults.draw({ isAuth: found.group === "Auth", operation: name });
    const strike = fault && strikes[fault];
    if (strike) return strike(response);
    if (fault === "expire-pairs") accounts.expirePairs();
    const headers = this.#quotaHeaders(throttle.accept(found.group, callerIp));
    if (fault === "nested-error") return this.#send(response, { ...nestedError(language), headers });
    this.#run(received, response, { found, headers, fault });
  }

  #run(
    received: Received,
    response: ServerResponse,
    {
      found,
      headers = [],
      fault,
    }: { found: Place | undefined; headers?: readonly string[]; fault?: FaultKind | undefined },
  ): void {
    const send = (result: Result): void =>
      this.#send(response, { ...result, headers: [...headers, ...(result.headers ?? [])] }, fault);
    const refuse = (thrown: unknown): void => send(refused(thrown, received.language));
    try {
      const result = this.#perform(received, found);
      if (!(result instanceof Promise)) return send(result);
      result.then(send, refuse).catch(() => response.destroy());
    } catch (thrown) {
      refuse(thrown);
    }
  }

  /** @throws Refusal */
  #perform(received: Received, found: Place | undefined): Result | Promise<Result> {
    if (found === undefined) throw new Refusal("pathUnknown");
    const operation = found.byMethod.get(received.method);
    if (operation === undefined) throw new Refusal("methodUnknown");
    const { accounts, options, state } = this.#parts;
    const { apiKey, token } = received;
    const holder = operation.needsPair ? accounts.check(apiKey, token, operation.whenExpired) : undefined;
    if (holder && !options.coverageTypes.some((coverage) => options.serves.includes(coverage))) {
      throw new Refusal("coverageMismatch");
    }
    const { ids } = found;
    const result = operation.handle({ ...received, accounts, options, state, holder, names: this.#names, ids });
    const share = options.takesOffline[operation.name] ?? 0;
    const place = share === 0 ? undefined : state.placeOf(ids[0] ?? "");
    const isTaken = place !== undefined && seededShare(options.seed ^ 0x0ff, place) < share;
    if (isTaken) state.sims.edit(place, { sessionStatus: { online: false } });
    return result ?? { status: 204, text: "" };
  }

  #quotaHeaders(reading: ReturnType<Throttle["accept"]>): string[] {
    const names = ["limit", "remaining", "secondsBeforeRefresh"] as const;
    return names.flatMap((name) => [this.#names[name], String(reading[name])]);
  }

  #send(response: ServerResponse, result: Result, fault?: FaultKind): void {
    const { options, state } = this.#parts;
    const { clock, latencyMs, slowMs } = options;
    state.countAnswer(result.status);
    const [minMs, maxMs] = typeof latencyMs === "number" ? [latencyMs, latencyMs] : latencyMs;
    const delayMs = minMs + (maxMs - minMs) * this.#random() + (fault === "slow" ? slowMs : 0);
    if (delayMs <= 0) return deliver(response, result, fault);
    clock
      .sleep(delayMs, this.#closing)
      .then(() => deliver(response, result, fault))
      .catch(() => response.destroy());
  }
}

/** The response to a rejected call, in the caller's language. */
function refused(thrown: unknown, language: Language): Result {
  const refusal = thrown instanceof Refusal ? thrown : new Refusal("faulty");
  return answer(refusal.status, refusal.bodyIn(language));
}

/** An error whose body has the nested form that some operations use instead of the flat one. */
function nestedError(language: Language): Result {
  const refusal = new Refusal("faulty");
  return answer(refusal.status, { httpStatus: refusal.status, errorMessage: refusal.bodyIn(language) });
}

/** Sends the response, unless the fault corrupts it on the way. */
function deliver(response: ServerResponse, { status, text, headers = [], pieces }: Result, fault?: FaultKind): void {
  if (pieces !== undefined) {
    pipeline(Readable.from(pieces), response.writeHead(status, ["content-type", "text/csv"]), () => undefined);
    return;
  }
  if (fault === "lost-answer" || (fault === "truncated" && text === "")) {
    response.socket?.destroy();
    return;
  }
  if (text === "") {
    response.writeHead(status, [...headers]).end();
    return;
  }
  // A long text is encoded once, instead of once to count the bytes and once to send them.
  const body = text.length > longText ? Buffer.from(text) : text;
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, ["content-type", "application/json", "content-length", length, ...headers]);
  if (fault === "truncated") response.write(text.slice(0, text.length / 2), () => response.socket?.destroy());
  else response.end(body);
}

interface Route {
  /** The parts of the path, `*` for a variable one. */
  readonly parts: readonly string[];
  /** API group. Absent: not subject to a quota. */
  readonly group: ApiGroup | undefined;
  readonly byMethod: Map<string, Operation>;
}

/** A route, and the variable parts of a path, percent-decoded. */
interface Place extends Route {
  readonly ids: readonly string[];
}

const shown = [...shownAccountOperations, ...shownSimOperations];
const routes: Readonly<Record<OperationSet, readonly Route[]>> = {
  interface: routesOf(shown),
  all: routesOf([...shown, ...namedSimOperations, ...namedAccountOperations]),
};

/** Finds the route of a path such as `/v1/sims/8942…/update_speed_class`; no path matches two. */
export function locate(operations: OperationSet, path: string): Place | undefined {
  const given = path.slice(1).split("/");
  const isPart = (part: string, i: number): boolean => (part === "*" ? given[i] !== "" : given[i] === part);
  const route = routes[operations].find(({ parts }) => parts.length === given.length && parts.every(isPart));
  return route && { ...route, ids: given.filter((_, i) => route.parts[i] === "*").map(decoded) };
}

function routesOf(operations: readonly Operation[]): Route[] {
  const byPath = new Map<string, Route>();
  for (const operation of operations) {
    const { path, group, method } = operation;
    const route = byPath.get(path) ?? { parts: path.split("/"), group, byMethod: new Map() };
    byPath.set(path, route);
    route.byMethod.set(method, operation);
  }
  return [...byPath.values()];
}

function decoded(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
