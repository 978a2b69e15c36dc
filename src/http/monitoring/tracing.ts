/** A span for each request to this worker, which continues the caller's trace. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type OpenSpan, tracing } from "#core/traced.ts";

export function addTracing(server: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  server.addHook("onRequest", (request, _reply, done) => {
    const { traceparent } = request.headers;
    const route = request.routeOptions.url;
    const span = tracing()?.begin({
      name: route === undefined ? request.method : `${request.method} ${route}`,
      kind: "server",
      attributes: {
        "http.request.method": request.method,
        "url.scheme": request.protocol,
        "url.path": request.url.split("?")[0] ?? "",
        ...(route === undefined ? {} : { "http.route": route }),
      },
      parent: typeof traceparent === "string" ? traceparent : undefined,
    });
    if (span === undefined) return done();
    spans.set(request, span);
    span.run(done);
  });
  server.addHook("onResponse", (request, reply, done) => {
    const span = spans.get(request);
    span?.set({ "http.response.status_code": reply.statusCode });
    if (reply.statusCode >= 500) span?.fail(String(reply.statusCode));
    span?.end();
    done();
  });
}
