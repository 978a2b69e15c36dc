/**
 * One HTTP exchange, from request to response: quota, then fault, then pair, then the operation. It keeps no state
 * between calls. It is the hot path of every benchmark, so it does the minimum per call: no middleware, no schema,
 * header names computed once, one JSON.stringify. There are two tables of operations: those that the interface shows,
 * and those plus the ones that it only names, at the paths of a public platform.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { unescape } from "node:querystring";
import { pipeline, Readable } from "node:stream";
import type { Language } from "#fleet/profile.ts";
import { namedAccountOperations, shownAccountOperations } from "./account/account-operations.ts";
import { control, type Controls } from "./control.ts";
import type { FaultKind } from "./faults.ts";
import {
  answer,
  type Call,
  headerNamesOf,
  type Operation,
  readRequest,
  type Received,
  type Result,
} from "./operation.ts";
import type { OperationSet } from "./options.ts";
import { Refusal } from "./refusals.ts";
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

/** @param closing aborts when the sandbox closes @returns what responds to one request */
export function openExchange(parts: Controls, closing: AbortSignal) {
  const { accounts, faults, options, state, throttle } = parts;
  const { clock, latencyMs, slowMs } = options;
  const [minMs, maxMs] = typeof latencyMs === "number" ? [latencyMs, latencyMs] : latencyMs;
  const names = headerNamesOf(options.brand);
  const random = seededRandom(options.seed + 1);
  const around = { accounts, options, state, names };

  const toHeaders = ({ limit, remaining, secondsBeforeRefresh }: ReturnType<typeof throttle.accept>): string[] => {
    const values = [names.limit, limit, names.remaining, remaining, names.secondsBeforeRefresh, secondsBeforeRefresh];
    return values.map(String);
  };

  const send = (response: ServerResponse, result: Result, fault?: FaultKind): void => {
    state.countAnswer(result.status);
    const delayMs = minMs + (maxMs - minMs) * random() + (fault === "slow" ? slowMs : 0);
    if (delayMs <= 0) return deliver(response, result, fault);
    clock
      .sleep(delayMs, closing)
      .then(() => deliver(response, result, fault))
      .catch(() => response.destroy());
  };

  const call = (received: Received, response: ServerResponse): void => {
    const { callerIp, language, method, path } = received;
    const found = locate(options.operations, path);
    const group = found?.group;
    const operation = found?.byMethod.get(method)?.name;
    state.countCall(operation ?? "none");
    if (group !== undefined && throttle.isSpent(group, callerIp)) {
      const headers = toHeaders(throttle.refuse(group, callerIp));
      return send(response, { ...refused(new Refusal("throttled"), language), headers });
    }
    const fault = group && faults.draw({ isAuth: group === "Auth", operation });
    const strike = fault && strikes[fault];
    if (strike) return strike(response);
    if (fault === "expire-pairs") accounts.expirePairs();
    const headers = group === undefined ? [] : toHeaders(throttle.accept(group, callerIp));
    const answered = (result: Result): void =>
      send(response, { ...result, headers: [...headers, ...(result.headers ?? [])] }, fault);
    const refuse = (thrown: unknown): void => answered(refused(thrown, language));
    if (fault === "nested-error") return send(response, { ...nestedError(language), headers });
    try {
      const result = perform(received, found, around);
      if (!(result instanceof Promise)) return answered(result);
      result.then(answered, refuse).catch(() => response.destroy());
    } catch (thrown) {
      refuse(thrown);
    }
  };

  return (request: IncomingMessage, response: ServerResponse): void => {
    const isControl = request.url?.startsWith("/_sandbox/") === true;
    readRequest(request, names, isControl ? maxControlBytes : maxBodyBytes, (received) => {
      try {
        if (isControl) deliver(response, control(parts, received));
        else call(received, response);
      } catch {
        response.destroy(); // the worker of the demo runs in this process
      }
    });
  };
}

/** Does what a call asks for. @throws Refusal */
function perform(
  received: Received,
  found: Place,
  around: Omit<Call, keyof Received | "holder" | "ids">,
): Result | Promise<Result> {
  if (found === undefined) throw new Refusal("pathUnknown");
  const operation = found.byMethod.get(received.method);
  if (operation === undefined) throw new Refusal("methodUnknown");
  const { accounts, options, state } = around;
  const { apiKey, token } = received;
  const holder = operation.needsPair ? accounts.check(apiKey, token, operation.whenExpired) : undefined;
  if (holder && !options.coverageTypes.some((coverage) => options.serves.includes(coverage))) {
    throw new Refusal("coverageMismatch");
  }
  const { ids } = found;
  const result = operation.handle({ ...received, ...around, holder, ids });
  const share = options.takesOffline[operation.name] ?? 0;
  const place = share === 0 ? undefined : state.placeOf(ids[0] ?? "");
  const isTaken = place !== undefined && seededShare(options.seed ^ 0x0ff, place) < share;
  if (isTaken) state.sims.edit(place, { sessionStatus: { online: false } });
  return result ?? { status: 204, text: "" };
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

type Place = ReturnType<typeof locate>;

const shown = [...shownAccountOperations, ...shownSimOperations];
const routes = {
  interface: toRoutes(shown),
  all: toRoutes([...shown, ...namedSimOperations, ...namedAccountOperations]),
};

/**
 * Finds the route of a path such as `/v1/sims/8942…/update_speed_class`; no path matches two.
 * @returns `ids`: the variable parts of the path, percent-decoded
 */
function locate(operations: OperationSet, path: string) {
  const given = path.slice(1).split("/");
  const isPart = (part: string, i: number): boolean => (part === "*" ? given[i] !== "" : given[i] === part);
  const route = routes[operations].find(({ parts }) => parts.length === given.length && parts.every(isPart));
  return route && { ...route, ids: given.filter((_, i) => route.parts[i] === "*").map((part) => unescape(part)) };
}

/** `parts`: those of the path, `*` for a variable one; a path without a group is not subject to a quota. */
function toRoutes(operations: readonly Operation[]) {
  return [...Map.groupBy(operations, ({ path }) => path)].map(([path, ofPath]) => ({
    parts: path.split("/"),
    group: ofPath[0]?.group,
    byMethod: new Map(ofPath.map((operation) => [operation.method, operation])),
  }));
}
