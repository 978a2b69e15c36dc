/**
 * bull-board, the dashboard in which an admin inspects the queues. Its page loads fonts from Google and has inline
 * styles. Both are removed, so that the page contacts no other host and satisfies our content security policy.
 */
import { createBullBoard } from "@bull-board/api";
import { FastifyAdapter } from "@bull-board/fastify";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fastify, { type FastifyInstance } from "fastify";
import type { ControlDeps } from "../deps.ts";
import { queuesPath } from "./queue-sessions.ts";

/** The folder of its pages: next to the compiled src/, or in the package when src/ runs uncompiled. */
const pagesFolder = ["../../queue-pages", "../../../node_modules/@bull-board/ui"]
  .map((place) => fileURLToPath(new URL(place, import.meta.url)))
  .find((place) => existsSync(`${place}/dist`));

const colorsFile = "simfleet.css";

/** Its names for colors, with the values of web/src/styles/tokens.css; it adds `dark-mode` itself. */
const colors = `:root{--background:#f3f5f3;--foreground:#16201d;--card:#ffffff;--popover:#ffffff;--primary:#0b6b6f;
--primary-foreground:#ffffff;--secondary:#e9edea;--secondary-foreground:#16201d;--muted:#e9edea;--muted-foreground:#5f6b66;
--accent:#dcecea;--accent-foreground:#0a5f63;--destructive:#b3261e;--border:#dce1dd;--input:#7f8a85;--sidebar:#f3f5f3;
--sidebar-foreground:#46524d;--sidebar-accent:#dcecea;--sidebar-border:#dce1dd;
--font-sans:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif}
.dark-mode{--background:#0e1312;--foreground:#e7edea;--card:#151c1a;--popover:#151c1a;--primary:#4cc0bb;
--primary-foreground:#05201f;--secondary:#1e2724;--secondary-foreground:#e7edea;--muted:#1e2724;--muted-foreground:#94a09b;
--accent:#17312f;--accent-foreground:#6ad0cb;--destructive:#ff938a;--border:#27312d;--input:#71807a;--sidebar:#0e1312;
--sidebar-foreground:#b5c0bb;--sidebar-accent:#17312f;--sidebar-border:#27312d}
.back{position:fixed;z-index:99;left:12px;bottom:12px;padding:8px 14px;border:1px solid var(--border);border-radius:6px;
background:var(--card);color:var(--primary);font:500 14px var(--font-sans)}
`;

/** A separate server that does not listen on a port. */
export async function openQueuePages({ app, config }: ControlDeps): Promise<FastifyInstance> {
  const pages = fastify({ logger: false });
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath(queuesPath);
  const board = createBullBoard({
    queues: [],
    serverAdapter,
    options: {
      uiBasePath: pagesFolder ?? "",
      uiConfig: {
        boardTitle: "simfleet queues",
        hideDocsLink: true,
      },
    },
  });
  pages.addHook("preHandler", async ({ url }) => {
    if (!url.includes("/static/"))
      board.setQueues(await app.control.queues.adapters({ isReadOnly: config.http.queues === "read-only" }));
  });
  pages.addHook("onSend", (_request, reply, payload, done) => {
    const isPage = String(reply.getHeader("content-type")).startsWith("text/html") && typeof payload === "string";
    done(null, isPage ? withOwnLooksAlone(payload) : payload);
  });
  pages.get(`${queuesPath}/static/${colorsFile}`, async (_request, reply) =>
    reply.type("text/css; charset=utf-8").header("cache-control", "public, max-age=3600").send(colors),
  );
  await pages.register(serverAdapter.registerPlugin(), { prefix: queuesPath });
  await pages.ready();
  return pages;
}

/** The page with our colors and a way back, and without external links, style elements and style attributes. */
function withOwnLooksAlone(html: string): string {
  return html
    .replaceAll(/<link\b[^>]*\bhref="https?:[^>]*>/g, "")
    .replaceAll(/<style>[^<]*<\/style>/g, "")
    .replaceAll(/(<[a-z]+) style="[^"]*"/g, "$1")
    .replace("</head>", `<link href="static/${colorsFile}" rel="stylesheet"></head>`)
    .replace(/<body[^>]*>/, `$&<a class="back" href="/">← Back to simfleet</a>`);
}
