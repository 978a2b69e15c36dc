// How Vite bundles the program. A command starts in half the time from a few large files: it uses more than a thousand
// modules, and Node.js looks up, reads and compiles each of them separately.
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const src = `${root}src/`;

/** Packages that read files of their own at run time. */
const withFiles = [/^@bull-board\//, "@fastify/swagger-ui"];

/** A module finds the files beside it, such as its Lua scripts, although its code moves to the top of dist/. */
const locations = {
  name: "locations",
  enforce: "pre",
  transform(code, id) {
    if (!id.startsWith(src) || !code.includes("import.meta.url")) return null;
    const place = JSON.stringify(`./${id.slice(src.length)}`);
    return { code: code.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`), map: null };
  },
};

export const program = {
  configFile: false,
  root,
  publicDir: false,
  plugins: [locations],
  ssr: {
    target: "node",
    noExternal: true,
    external: [],
    resolve: { conditions: ["simfleet-source", "node", "default"] },
  },
  build: {
    ssr: true,
    target: "node24",
    minify: false,
    emptyOutDir: true,
    rolldownOptions: {
      input: { cli: `${src}cli.ts`, worker: `${src}worker.ts`, "command-line": `${src}command-line.ts` },
      external: withFiles,
      output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
    },
  },
};
