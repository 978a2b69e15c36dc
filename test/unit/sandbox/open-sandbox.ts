/** Opens a sandbox with a clock that the test moves, closes it after the test, and calls it as a client would. */
import { onTestFinished } from "vitest";
import type { SandboxOptions } from "#sandbox/options.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { ManualClock } from "../../support/manual-clock.ts";

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: any;
}

interface Request {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OpenSandbox {
  readonly sandbox: Sandbox;
  readonly clock: ManualClock;
  /** The pair's headers; signs in on the first call. */
  readonly pair: () => Promise<Readonly<Record<string, string>>>;
  /** A call as it is, without a pair. */
  readonly send: (method: string, path: string, request?: Request) => Promise<Answered>;
  /** A call with the pair. */
  readonly call: (method: string, path: string, request?: Request) => Promise<Answered>;
  /** Sets the class of the SIM with this number. */
  readonly update: (index: number, speedClass?: string) => Promise<Answered>;
}

export const root = { email: "root@example.com", password: "sandbox-password" };
export const user = { operatorId: "OP0000000001", userName: "robot", password: "sandbox-password" };
export const goodAuthKey = { authKeyId: "keyId-sandbox", authKey: "secret-sandbox" };

export async function openSandbox(options: Partial<SandboxOptions> = {}): Promise<OpenSandbox> {
  const clock = new ManualClock();
  const sandbox = await startSandbox({ clock, ...options });
  onTestFinished(() => sandbox.close());
  let pair: Readonly<Record<string, string>> | undefined;

  const send = async (method: string, path: string, { body, headers }: Request = {}): Promise<Answered> => {
    const response = await fetch(sandbox.url + path, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  };
  const ownPair = async (): Promise<Readonly<Record<string, string>>> => (pair ??= await signIn(opened));
  const call: OpenSandbox["call"] = async (method, path, { body, headers } = {}) =>
    send(method, path, { body, headers: { ...(await ownPair()), ...headers } });
  const opened: OpenSandbox = {
    sandbox,
    clock,
    pair: ownPair,
    send,
    call,
    update: (index, speedClass = "s1.fast") =>
      call("POST", `/v1/sims/${sandbox.state.sims.simIdAt(index)}/update_speed_class`, { body: { speedClass } }),
  };
  return opened;
}

/** As `openSandbox`, with the operations that the interface only names. */
export function openAll(options: Partial<SandboxOptions> = {}): Promise<OpenSandbox> {
  return openSandbox({ operations: "all", ...options });
}

/** The headers of a new pair. */
async function signIn({ send }: OpenSandbox, body: object = goodAuthKey): Promise<Record<string, string>> {
  const { json } = await send("POST", "/v1/auth", { body });
  return { "X-Svc-API-Key": json.apiKey, "X-Svc-Token": json.token };
}

/** What the three rate-limit headers of a response say: limit, remaining, seconds before refresh. */
export function quotaOf({ headers }: Answered): (number | null)[] {
  return ["limit", "remaining", "seconds-before-refresh"].map((name) => {
    const value = headers.get(`x-svc-ratelimit-${name}`);
    return value === null ? null : Number(value);
  });
}

/** `404 SIM0001` */
export function refusalOf({ status, json }: Answered): string {
  return `${status} ${json.code}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
