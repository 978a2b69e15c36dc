/**
 * The proxies that the environment names, as for other programs: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in lower case
 * too. A proxy only passes on what is encrypted for the host behind it. This machine is never reached through one.
 */
import type * as Undici from "undici";
import { isLoopback } from "./loopback.ts";
import type { Secret } from "./secrets/secret.ts";

export interface OutgoingProxy {
  /** May hold a password. */
  readonly url: Secret;
  /** Without user and password. */
  readonly shown: string;
  readonly variable: string;
  /** Hosts that are reached directly, as NO_PROXY has them. */
  readonly except: string;
}

/** The proxy could not be reached; what it should have connected to was not. */
class ProxyUnreachable extends Error {}

/** Connections as `options` say; through the proxy where there is one, but for the hosts that it is not for. */
export function openDispatcher(
  { Agent, Dispatcher, EnvHttpProxyAgent, Pool }: typeof Undici,
  { connectTimeoutMs, ...options }: Undici.Agent.Options & { readonly connectTimeoutMs: number },
  proxy: OutgoingProxy | undefined,
): Undici.Dispatcher {
  const direct = new Agent(options);
  if (proxy === undefined) return direct;
  const proxied = new EnvHttpProxyAgent({
    ...options,
    // Both, so that no variable is read again.
    httpProxy: proxy.url.reveal(),
    httpsProxy: proxy.url.reveal(),
    noProxy: proxy.except,
    requestTls: { timeout: connectTimeoutMs },
    proxyTls: { timeout: connectTimeoutMs },
    clientFactory: (origin, { connect }: { connect: Undici.buildConnector.connector }) =>
      new Pool(origin, {
        headersTimeout: connectTimeoutMs,
        connect: (target, done) =>
          connect(target, (...[error, socket]) => {
            if (error === null) done(null, socket);
            else done(unreachable(proxy, error), null);
          }),
      }),
  });
  class Outgoing extends Dispatcher {
    override dispatch(request: Undici.Dispatcher.DispatchOptions, handler: Undici.Dispatcher.DispatchHandler): boolean {
      const isDirect = isLoopback(new URL(String(request.origin)).hostname);
      return (isDirect ? direct : proxied).dispatch(request, handler);
    }

    override async close(): Promise<void> {
      await Promise.all([direct.close(), proxied.close()]);
    }
  }
  return new Outgoing();
}

function unreachable({ shown, variable }: OutgoingProxy, error: Error): ProxyUnreachable {
  const code = "code" in error ? String(error.code) : error.name;
  return new ProxyUnreachable(`the proxy ${shown} cannot be reached (${code}). Check ${variable}.`);
}

/** Says that it was the proxy that failed; undefined if it was not. @param host behind the proxy */
export function proxyFault(thrown: unknown, host: string): string | undefined {
  if (thrown instanceof ProxyUnreachable) return thrown.message;
  if (!(thrown instanceof Error)) return undefined;
  if ("code" in thrown && String(thrown.code).startsWith("UND_ERR_PRX")) return `the proxy did not connect to ${host}.`;
  const [, status] = /^Proxy response \((\d+)\)/.exec(thrown.message) ?? [];
  if (status === undefined) return undefined;
  return status === "407"
    ? "the proxy asks for a user and a password (407). Give them in HTTPS_PROXY, as http://USER:PASSWORD@HOST:PORT."
    : `the proxy refused to connect to ${host} (${status}). Ask who runs it, or name the host in NO_PROXY.`;
}

export async function fetchThrough(
  proxy: OutgoingProxy,
  url: string,
  init: object,
  timeoutMs: number,
): Promise<Response> {
  const undici = await import("undici");
  const dispatcher = openDispatcher(undici, { connectTimeoutMs: timeoutMs }, proxy);
  try {
    const answer = await undici.fetch(url, { ...init, dispatcher });
    return new Response(await answer.arrayBuffer(), { status: answer.status });
  } finally {
    await dispatcher.close();
  }
}
