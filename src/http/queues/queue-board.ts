/**
 * Serves the queue dashboard under /queues to admins, with our guard and content security policy. The dashboard is
 * loaded on the first request, so that a worker whose queues are never viewed does not spend memory on it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import type { ControlDeps } from "../deps.ts";
import { queuesPath, withoutSession } from "./queue-sessions.ts";
import { widenPolicy } from "../security-headers.ts";

/** Its files are relative to its <base>, and its script writes one constant style element. */
const itsPolicy = {
  "base-uri": ["'self'"],
  "style-src": ["'self'", "'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='"],
};
/** Headers that are about one connection, or that are ours to say. */
const notPassedOn: ReadonlySet<string> = new Set(["connection", "date", "keep-alive", "transfer-encoding"]);

export async function addQueueBoard(server: FastifyInstance, deps: ControlDeps): Promise<void> {
  let opened: Promise<FastifyInstance> | undefined;
  const open = (): Promise<FastifyInstance> => {
    opened ??= import("./queue-pages.ts").then(({ openQueuePages }) => openQueuePages(deps));
    return opened;
  };
  await server.register((child, _options, done) => {
    widenPolicy(child, itsPolicy);
    for (const path of [queuesPath, `${queuesPath}/*`]) {
      child.all(path, { config: { role: "admin" } }, async (request, reply) => {
        const isReading = request.method === "GET" || request.method === "HEAD";
        if (!isReading && deps.config.http.queues === "read-only") {
          const message =
            "The queue dashboard is read-only: set http.queues to read-write to let an admin change queues";
          throw new SimfleetError("FORBIDDEN", message);
        }
        return forward(await open(), request, reply);
      });
    }
    child.addHook("onClose", async () => (await opened)?.close());
    done();
  });
}

async function forward(pages: FastifyInstance, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { body, headers } = request;
  const { url, basePath } = withoutSession(request.url);
  // No credentials: authentication is already done.
  const { accept, "content-type": contentType } = headers;
  const answer = await pages.inject({
    method: request.method as "GET",
    url,
    headers: { ...(accept && { accept }), ...(contentType && { "content-type": contentType }) },
    ...(body === undefined || body === null ? {} : { payload: body }),
  });
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined && !notPassedOn.has(name)) reply.header(name, value);
  }
  const isPage = String(answer.headers["content-type"]).startsWith("text/html");
  if (!isPage || basePath === queuesPath) return reply.code(answer.statusCode).send(answer.rawPayload);
  // Its addresses, which it writes relative to its base, then have the segment of the session.
  const page = answer.payload.replace(`<base href="${queuesPath}/"`, `<base href="${basePath}/"`);
  return reply.removeHeader("content-length").code(answer.statusCode).send(page);
}
