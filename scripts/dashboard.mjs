// How Vite bundles the dashboard, for the build (build.mjs) and, when run directly, for development:
//   SIMFLEET_SERVER=http://127.0.0.1:8080 npm run web:dev serves web/ with hot reload, and asks that worker for data.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { licensesFile } from "./program.mjs";

/**
 * Everything is a separate file of the same origin, as the content security policy requires: nothing inline, no eval.
 */
export const dashboard = {
  configFile: false,
  root: fileURLToPath(new URL("../web/", import.meta.url)),
  base: "/",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2024",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    license: { fileName: licensesFile },
    reportCompressedSize: false,
  },
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { createServer } = await import("vite");
  const worker = process.env.SIMFLEET_SERVER ?? "http://127.0.0.1:8080";
  const proxy = { target: worker, changeOrigin: true };
  const server = await createServer({
    ...dashboard,
    cacheDir: join(dashboard.root, "../node_modules/.vite"),
    server: { host: "127.0.0.1", proxy: { "/v1": proxy, "/docs": proxy } },
  });
  await server.listen();
  server.printUrls();
  console.log(`  data comes from ${worker}`);
}
