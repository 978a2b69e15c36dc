/**
 * bull-board, the dashboard in which an admin inspects the queues. Its page loads fonts from Google and has inline
 * styles. Both are removed, so that the page contacts no other host and satisfies our content security policy.
 */
import { createBullBoard } from "@bull-board/api";
import { FastifyAdapter } from "@bull-board/fastify";
import fastify, { type FastifyInstance } from "fastify";
import type { ControlDeps } from "../deps.ts";
import { queuesPath } from "./queue-sessions.ts";

/** A separate server that does not listen on a port. */
export async function openQueuePages({ app, config }: ControlDeps): Promise<FastifyInstance> {
  const pages = fastify({ logger: false });
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath(queuesPath);
  const board = createBullBoard({
    queues: [],
    serverAdapter,
    options: { uiConfig: { boardTitle: "simfleet queues" } },
  });
  pages.addHook("preHandler", async ({ url }) => {
    if (!url.includes("/static/"))
      board.setQueues(await app.control.queues.adapters({ isReadOnly: config.http.queues === "read-only" }));
  });
  pages.addHook("onSend", (_request, reply, payload, done) => {
    const isPage = String(reply.getHeader("content-type")).startsWith("text/html") && typeof payload === "string";
    done(null, isPage ? withOwnLooksAlone(payload) : payload);
  });
  await pages.register(serverAdapter.registerPlugin(), { prefix: queuesPath });
  await pages.ready();
  return pages;
}

/** The page without external links, style elements and style attributes. */
function withOwnLooksAlone(html: string): string {
  return html
    .replaceAll(/<link\b[^>]*\bhref="https?:[^>]*>/g, "")
    .replaceAll(/<style>[^<]*<\/style>/g, "")
    .replaceAll(/(<[a-z]+) style="[^"]*"/g, "$1");
}
