/**
 * Serves the dashboard: the files of dist/web, and its one HTML page for every path that is a view. Paths that match
 * neither a file nor a view get a problem document. It renders nothing itself.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { sendProblem } from "./problem.ts";

/** Next to the compiled src/, or next to src/ when it runs uncompiled. */
const places = ["../web", "../../dist/web"].map((place) => fileURLToPath(new URL(place, import.meta.url)));

const notBuilt =
  "The dashboard is not built: run npm run build. The control API is under /v1, its reference under /docs.\n";

/** @param folder folder of the built dashboard; by default next to the program */
export async function addDashboard(
  server: FastifyInstance,
  folder = places.find((place) => existsSync(`${place}/index.html`)),
): Promise<void> {
  if (folder !== undefined) {
    await server.register(async (child) => {
      child.addHook("onRoute", (route) => {
        route.config = { ...route.config, role: "open" };
      });
      // Asset names contain a digest of their content, so they can be cached forever.
      await child.register(fastifyStatic, {
        root: `${folder}/assets`,
        prefix: "/assets/",
        immutable: true,
        maxAge: "365d",
        index: false,
        preCompressed: true,
      });
    });
    await server.register(fastifyStatic, { root: folder, serve: false });
  }
  const page = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    folder === undefined
      ? reply.type("text/plain; charset=utf-8").send(notBuilt)
      : reply.header("cache-control", "no-cache").sendFile("index.html");
  server.get("/", { config: { role: "open" } }, page);
  server.setNotFoundHandler(async (request, reply) => {
    if (isView(request)) return page(request, reply);
    const what = `${request.method} ${request.url.split("?", 1)[0]}`;
    return sendProblem(new SimfleetError("NOT_FOUND", `There is no route ${what}: see /docs`), request, reply);
  });
}

/** A view's path has no dot and belongs to nothing else; a reload of it asks for HTML. */
function isView({ method, url, headers }: FastifyRequest): boolean {
  if (method !== "GET" || !(headers.accept ?? "").includes("text/html")) return false;
  return !/^\/(?:v1|docs|metrics|assets)(?:[/?]|$)/.test(url) && !url.split("?", 1)[0]?.includes(".");
}
