/**
 * One HTTP exchange, from request to response: quota, then fault, then pair, then the operation. It keeps no state
 * between calls. It is the hot path of every benchmark, so it does the minimum per call: no middleware, no schema,
 * header names computed once, one JSON.stringify.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { control, type ControlAnswer, type Controls } from "./control.ts";
import { type Answer, asAnswer, deliver, nestedError, refused, strike } from "./delivery.ts";
import type { FaultKind } from "../faults.ts";
import { Refusal } from "../refusals.ts";
import type { Operation } from "../operation.ts";
import type { Holder } from "../accounts/accounts.ts";
import type { Reading } from "../quota.ts";
import { bodyJson, bodyObject, headerNamesOf, type HeaderNames, readRequest, type Received } from "./request.ts";
import { locate } from "./routes.ts";

/** A change of the fleet may list every SIM. */
const maxControlBytes = 64 * 1_048_576;

/** What an exchange needs beyond the controls. */
export interface ExchangeParts extends Controls {
  /** Delay of the next response. */
  readonly drawLatencyMs: () => number;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** How to send the response of an accepted call. */
interface Passage {
  readonly headers: readonly string[];
  readonly fault: FaultKind | undefined;
}

export class Exchange {
  readonly #deps: ExchangeParts;
  readonly #names: HeaderNames;

  constructor(deps: ExchangeParts) {
    this.#deps = deps;
    this.#names = headerNamesOf(deps.options.brand);
  }

  /** Responds to one request. */
  receive(request: IncomingMessage, response: ServerResponse): void {
    const { options } = this.#deps;
    const isControl = request.url?.startsWith("/_sandbox/") === true;
    const maxBodyBytes = isControl ? maxControlBytes : options.maxBodyBytes;
    readRequest(request, { names: this.#names, maxBodyBytes, language: options.language }, (received) => {
      try {
        if (isControl) deliver(response, controlAnswer(control(this.#deps, received)));
        else this.#call(received, response);
      } catch {
        response.destroy(); // the worker of the demo runs in this process
      }
    });
  }

  #call(received: Received, response: ServerResponse): void {
    const { accounts, faults, options, state, throttle } = this.#deps;
    const { callerIp, language, method, path } = received;
    const found = locate(options.operations, path);
    const operation = found?.byMethod.get(method);
    state.countCall(operation?.name ?? "none");
    if (found === undefined) return this.#send(response, refused(new Refusal("pathUnknown"), language));
    if (found.group === undefined) return this.#run(received, response, { ...found, operation }, open);
    if (throttle.isSpent(found.group, callerIp)) {
      const headers = this.#quotaHeaders(throttle.refuse(found.group, callerIp));
      return this.#send(response, refused(new Refusal("throttled"), language, headers));
    }
    const fault = faults.draw({ isAuth: found.group === "Auth", operation: operation?.name });
    if (fault === "expire-pairs") accounts.expirePairs();
    if (fault !== undefined && strike(response, fault)) return;
    const headers = this.#quotaHeaders(throttle.accept(found.group, callerIp));
    if (fault === "nested-error") return this.#send(response, nestedError(language, headers));
    this.#run(received, response, { ...found, operation }, { headers, fault });
  }

  #run(
    received: Received,
    response: ServerResponse,
    { ids, operation }: { ids: readonly string[]; operation: Operation | undefined },
    { headers, fault }: Passage,
  ): void {
    const refuse = (thrown: unknown): void =>
      this.#send(response, refused(asRefusal(thrown), received.language, headers), fault);
    try {
      if (operation === undefined) throw new Refusal("methodUnknown");
      const holder = operation.needsPair ? this.#checkPair(received, operation) : undefined;
      const { accounts, options, state } = this.#deps;
      const { path, queryText } = received;
      const body = (): Readonly<Record<string, unknown>> => bodyObject(received);
      const json = (): unknown => bodyJson(received);
      const hasBody = received.bodyText !== "";
      const call = { accounts, options, state, holder, names: this.#names, path, ids, queryText, hasBody, body, json };
      const result = operation.handle(call);
      if (!(result instanceof Promise)) return this.#send(response, asAnswer(result, headers), fault);
      result
        .then((value) => this.#send(response, asAnswer(value, headers), fault), refuse)
        .catch(() => response.destroy());
    } catch (thrown) {
      refuse(thrown);
    }
  }

  #checkPair({ apiKey, token }: Received, { whenExpired }: Operation): Holder {
    const { accounts, options } = this.#deps;
    const holder = accounts.check(apiKey, token, whenExpired);
    const isServed = accounts.coverageTypes.some((coverage) => options.serves.includes(coverage));
    if (!isServed) throw new Refusal("coverageMismatch");
    return holder;
  }

  #quotaHeaders(reading: Reading): readonly string[] {
    const { limit, remaining, secondsBeforeRefresh } = this.#names;
    return [
      limit,
      String(reading.limit),
      remaining,
      String(reading.remaining),
      secondsBeforeRefresh,
      String(reading.secondsBeforeRefresh),
    ];
  }

  #send(response: ServerResponse, answer: Answer, fault?: FaultKind): void {
    const { closing, drawLatencyMs, options, state } = this.#deps;
    state.countAnswer(answer.status);
    const delayMs = drawLatencyMs() + (fault === "slow" ? options.slowMs : 0);
    if (delayMs <= 0) return deliver(response, answer, fault);
    options.clock
      .sleep(delayMs, closing)
      .then(() => deliver(response, answer, fault))
      .catch(() => response.destroy());
  }
}

function controlAnswer({ status, value }: ControlAnswer): Answer {
  return { status, headers: [], body: JSON.stringify(value) };
}

const open: Passage = { headers: [], fault: undefined };

function asRefusal(thrown: unknown): Refusal {
  return thrown instanceof Refusal ? thrown : new Refusal("faulty");
}
