// How Vite bundles the program. A command starts in half the time from a few large files: it uses more than a thousand
// modules, and Node.js looks up, reads and compiles each of them separately.
import { fileURLToPath } from "node:url";
import { minifySync } from "vite";

const root = fileURLToPath(new URL("../", import.meta.url));
const src = `${root}src/`;

/** Where Vite lists the bundled packages with their licenses. */
export const licensesFile = "licenses.json";

/** A module finds the files next to it, such as its Lua scripts, although its code moves to the top of dist/. */
const locations = {
  name: "locations",
  enforce: "pre",
  transform(code, id) {
    if (!id.startsWith(src) || !code.includes("import.meta.url")) return null;
    const place = JSON.stringify(`./${id.slice(src.length)}`);
    return { code: code.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`), map: null };
  },
};

/** Swagger UI finds its pages next to its code; build.mjs copies them to dist/api-page. */
const apiPage = {
  name: "api-page",
  transform(code, id) {
    const file = /\/node_modules\/@fastify\/swagger-ui\/(.*\/)?[^/]+\.js$/.exec(id);
    if (file === null || !code.includes("__dirname")) return null;
    return { code: code.replaceAll("__dirname", `(import.meta.dirname + "/api-page/${file[1] ?? ""}")`), map: null };
  },
};

/** Node.js keeps the text of every module in memory. Code of this repository stays readable in stack traces. */
const shortPackages = {
  name: "short-packages",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== "chunk" || file.moduleIds.some((id) => id.startsWith(src))) continue;
      file.code = minifySync(file.fileName, file.code, { module: true, codegen: { asciiOnly: true } }).code;
    }
  },
};

export const program = {
  configFile: false,
  root,
  publicDir: false,
  plugins: [locations, apiPage, shortPackages],
  ssr: {
    target: "node",
    noExternal: true,
    external: [],
  },
  build: {
    ssr: true,
    target: "node24",
    minify: false,
    emptyOutDir: true,
    license: { fileName: licensesFile },
    rolldownOptions: {
      input: {
        cli: `${src}cli.ts`,
        worker: `${src}worker.ts`,
        "command-line": `${src}command-line.ts`,
      },
      // Its backend for another database is left out.
      treeshake: { moduleSideEffects: [{ test: /\/node_modules\/bullmq\//, sideEffects: false }] },
      // Without comments and with ASCII alone: Node.js keeps the text of every module in memory, and a text with any
      // other character takes two bytes for each.
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "[name]-[hash].js",
        comments: false,
        charset: "ascii",
        // What every command loads is one file; a chunk of packages alone is minified.
        codeSplitting: {
          groups: [
            // Without the server: commands use them as well.
            ...["zod", "js-yaml", "pino", "ioredis", "semver"].map((name) => ({
              name,
              test: `/node_modules/${name}/`,
              priority: 4,
            })),
            { name: "start", test: /\/src\/start\.ts$/, priority: 3 },
            { name: "program", test: /\/src\/(command-line|features)\.ts$/, priority: 2 },
            { name: "fastify", test: /\/node_modules\/@?fastify/, priority: 1 },
            { name: "app", test: /\/src\/(kernel\/app|cli\/connect|jobs\/(runs|inventory)\/open)\.ts$/ },
          ],
        },
      },
    },
  },
};
