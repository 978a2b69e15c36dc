/**
 * The worker's HTTP surface: so far its health. `/healthz` says whether work moves, not merely whether the process is
 * there: a worker can be connected and yet stand still after an outage of Redis. `/readyz` says whether it takes work.
 */
import fastify, { type FastifyInstance } from "fastify";
import { SimfleetError, messageOf } from "#core/errors.ts";

/** What the health of a process is read from. */
export interface Health {
  /** Whether work moves; false when some waits and none was taken up for a while. */
  isMoving(): Promise<boolean>;
  /** Whether Redis answers and the consumers run. */
  isReady(): Promise<boolean>;
}

export interface HttpServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The port where none was chosen: a second worker on the machine then takes another. */
const usualPort = 8080;

interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly health: Health;
}

/**
 * Listens on the address; where the usual port is taken, on a free one.
 * @throws SimfleetError USAGE when the address cannot be listened on
 */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  try {
    return await listen(options);
  } catch (thrown) {
    const isTaken = thrown instanceof Error && "code" in thrown && thrown.code === "EADDRINUSE";
    if (isTaken && options.port === usualPort) return listen({ ...options, port: 0 });
    throw new SimfleetError(
      "USAGE",
      `Nothing can listen on ${options.host}:${options.port}: ${messageOf(thrown)}. Choose another with SIMFLEET_HTTP_HOST and SIMFLEET_HTTP_PORT`,
      { cause: thrown },
    );
  }
}

async function listen(options: HttpOptions): Promise<HttpServer> {
  const server = fastify({ logger: false, forceCloseConnections: true });
  addHealth(server, options.health, options.version);
  await server.listen({ host: options.host, port: options.port });
  const address = server.server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, port, close: () => server.close() };
}

function addHealth(server: FastifyInstance, health: Health, version: string): void {
  const route = (path: string, isGood: () => Promise<boolean>): void => {
    server.get(path, async (_request, reply) => {
      const isFine = await isGood().catch(() => false);
      return reply
        .code(isFine ? 200 : 503)
        .header("cache-control", "no-store")
        .send({ status: isFine ? "ok" : "unavailable", version });
    });
  };
  route("/healthz", () => health.isMoving());
  route("/readyz", () => health.isReady());
}
