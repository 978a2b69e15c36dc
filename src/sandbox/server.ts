/**
 * Starts and closes the sandbox: a simulator of the platform's HTTP API for tests, benchmarks and the demo. It
 * implements the interface independently of the client, so that a mistake in the client is not mirrored here;
 * `docs/reference/sandbox.md` documents the choices made where the interface is silent.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { openControls } from "./control.ts";
import { openExchange } from "./exchange.ts";
import { resolveOptions, type SandboxOptions } from "./options.ts";

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

/**
 * Longer than a client keeps an idle connection, so that the server does not close one that the client is about to use.
 */
const keepAliveTimeoutMs = 72_000;

/** Starts a sandbox and resolves once it listens. @throws ConfigError; SimfleetError if the port is in use */
export async function startSandbox(given: Partial<SandboxOptions> = {}) {
  const controls = await openControls(resolveOptions(given));
  const { options } = controls;
  const closing = new AbortController();
  const server = createServer({ keepAliveTimeout: keepAliveTimeoutMs }, openExchange(controls, closing.signal));
  try {
    await once(server.listen(options.port, options.host), "listening");
  } catch (cause) {
    const message = `The sandbox cannot listen; choose another host or port (${messageOf(cause)}).`;
    throw new SimfleetError("USAGE", message, { cause });
  }
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    ...controls,
    /** Base address without a path, `http://127.0.0.1:8787`. */
    url: `http://${host}:${port}`,
    port,
    /** Closes every connection, even with a response pending. */
    close: async (): Promise<void> => {
      closing.abort();
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}
