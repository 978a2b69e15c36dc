import { globSync, readFileSync } from "node:fs";

/**
 * The modules of src/ and what each may import, with the reason. Type imports count like any other, since a type ties two
 * modules together as well. `npm run imports` checks it; docs/contributing/architecture.md shows the same as a picture.
 */

/** Modules that every feature may build on. */
const underFeatures = [
  "contract",
  "engine",
  "api",
  "intake",
  "events",
  "limiter",
  "redis",
  "telemetry",
  "fleet",
  "core",
];
/** The one file of the kernel that each file of a feature may import, for its types alone. */
export const kernelTypes = {
  file: "kernel/kernel.ts",
  reason:
    "Parts of a feature name what they take of the kernel by its own type; they get it from feature.ts or open.ts.",
};

/** Each folder of src/jobs is a feature: it imports those features that its feature.ts names. */
function featureModules() {
  const reason = "A feature builds on the layers below it, and on the features that its feature.ts names as needs.";
  return Object.fromEntries(
    globSync("src/jobs/*/feature.ts").map((file) => {
      const module = file.slice("src/".length, -"/feature.ts".length);
      const needs = readFileSync(file, "utf8").matchAll(/^import .* from "#(jobs\/[a-z-]+)\/feature[.]ts";$/gm);
      const imports = [...[...needs].map(([, name]) => name), ...underFeatures];
      return [module, { imports, reason }];
    }),
  );
}

/** A module is a folder of src/; in src/jobs, each feature is one. Any other folder that is missing here is reported. */
export const modules = {
  core: { imports: [], reason: "Everything stands on core; it knows nothing of the product." },
  fleet: { imports: ["core"], reason: "Domain types and parsers have no I/O." },
  redis: { imports: ["core"], reason: "The connection does not know what is stored through it." },
  contract: {
    imports: ["fleet", "core"],
    reason: "A route is data that the server, the command line and the dashboard share; it knows none of them.",
  },
  telemetry: { imports: ["core"], reason: "Everything logs, so logging depends on nothing." },
  config: {
    imports: ["fleet", "core"],
    reason: "Modules receive their settings as values; the loader knows only domain types.",
  },
  intake: { imports: ["fleet", "core"], reason: "Reading a file needs neither Redis nor the platform." },
  limiter: { imports: ["redis", "core"], reason: "Buckets count calls and do not know what is called." },
  events: {
    imports: ["contract", "redis", "fleet", "core"],
    reason: "Events are written to the feed; the feed fetches nothing.",
  },
  api: {
    imports: ["limiter", "telemetry", "fleet", "core"],
    reason: "The client knows the platform, not runs or rows.",
  },
  engine: {
    imports: ["events", "redis", "fleet", "core"],
    reason: "Durable work (records, steps, fault policy, queues, results) knows no feature.",
  },
  sandbox: {
    imports: ["fleet", "core"],
    reason: "It states the platform's contract a second time, so that a mistake of the client is not mirrored.",
  },

  ...featureModules(),

  gateway: {
    imports: ["http", "api", "limiter", "telemetry", "fleet", "core"],
    reason:
      "It makes calls of other programs with the client's pair and permits. Of the control API it has the checks of host and token, and the form of errors.",
  },
  http: {
    imports: ["contract", "kernel", "jobs", "engine", "events", "telemetry", "config", "limiter", "fleet", "core"],
    reason: "A route calls a feature's service; it does not reach into queues, stores or the platform.",
  },
  cli: {
    imports: [
      "contract",
      "kernel",
      "jobs",
      "engine",
      "intake",
      "events",
      "telemetry",
      "config",
      "limiter",
      "sandbox",
      "fleet",
      "core",
    ],
    reason: "A command calls a feature's service; it does not reach into queues, stores or the platform.",
  },
  kernel: {
    imports: [
      "contract",
      "gateway",
      "http",
      "jobs",
      "engine",
      "api",
      "config",
      "events",
      "limiter",
      "redis",
      "telemetry",
      "fleet",
      "core",
    ],
    reason: "It opens what features build on, and the servers that serve them; features open themselves.",
  },
};

/** The files that start a process or a command, and the list of features; they import whatever they start or list. */
export const entries = ["cli.ts", "start.ts", "command-line.ts", "worker.ts", "features.ts"];

/** Packages with one owner; modules of `types` may import their types, which leave no trace at run time. */
export const packages = {
  bullmq: {
    files: "(engine/|jobs/[a-z-]+/(work/)?queue[.]ts$)",
    types: [],
    reason: "The queue engine can be replaced where few files know it.",
  },
  ioredis: {
    files: "redis/",
    types: ["limiter", "engine", "jobs", "events", "kernel"],
    reason: "Connections are made in one place, with one set of options; others receive one.",
  },
  "@opentelemetry": {
    files: "telemetry/tracing[.]ts$",
    types: [],
    reason: "Only a process that sends traces loads it; the rest makes spans through core/traced.ts.",
  },
  undici: {
    files: "(api/http/transport[^/]*|events/webhook/[^/]*|gateway/call|jobs/credentials/sinks|core/proxy)[.]ts$",
    types: [],
    reason:
      "Requests leave in four places, which decide on timeouts, size limits and redirects; core/proxy.ts decides on proxies.",
  },
};

const importRules = Object.entries(modules).map(([module, { imports, reason }]) => ({
  name: `imports-of-${module.replace("/", "-")}`,
  comment: `${module} imports from ${imports.join(", ") || "no other module"}. ${reason}`,
  severity: "error",
  // A feature.ts and open.ts tie a feature to the kernel and to the features that it needs, and feature.ts to the command
  // line, of which its commands are a part. Its config.ts builds on the loader.
  from: {
    path: `^src/${module}/`,
    ...(module === "config" ? {} : { pathNot: "/((feature|open|config)[.]ts$|commands([.]ts$|/))" }),
  },
  to: {
    path: "^src/",
    pathNot: [
      `^src/(${[module, ...imports].join("|")})/`,
      ...(module.startsWith("jobs/") ? [`^src/${kernelTypes.file}$`] : []),
    ],
  },
}));

const packageRules = Object.entries(packages).map(([name, { files, types, reason }]) => ({
  name: `owner-of-${name}`,
  comment: `Only src/${files} imports ${name}. ${reason}`,
  severity: "error",
  from: { path: "^src/", pathNot: [`^src/${files}`, ...types.map((module) => `^src/${module}/`)] },
  to: { path: `(^|/)node_modules/${name}/` },
}));

export default {
  forbidden: [
    ...importRules,
    ...packageRules,
    {
      name: "services-only",
      comment:
        "Commands and routes use what a feature offers (service, reports, plans), not how it stores or does its work.",
      severity: "error",
      from: { path: "^src/(jobs/[a-z-]+|events)/commands([.]ts$|/)" },
      to: { path: "^src/jobs/[a-z-]+/(ledger|work|store|steps|queue[.]ts|record[.]ts)" },
    },
    {
      name: "features-by-feature-ts",
      comment: "What is not a feature knows a feature by its feature.ts alone, and so by its service.",
      severity: "error",
      from: { path: "^src/(http|cli|kernel|gateway)/" },
      to: { path: "^src/jobs/", pathNot: "^src/jobs/[a-z-]+/feature[.]ts$" },
    },
    {
      name: "no-cycle",
      comment:
        "Files that import each other can be understood and tested only together. A file that is loaded later, such as a command, may import the feature that loads it.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["dynamic-import"] } },
    },
    {
      name: "entries-are-not-imported",
      comment: "cli.ts and worker.ts start a process; what others need of them belongs in a module.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^src/(cli|worker)[.]ts$" },
    },
    {
      name: "src-stands-alone",
      comment: "The package is src/ compiled: it does not need tests, benchmarks or scripts.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|scripts|dist|examples)/" },
    },
    {
      name: "pure-logic",
      comment:
        "web/src/pure is tested without a browser: it knows no page, no request and no component. It takes the types of reports from the contracts of the features, and the sentences of events from where they are declared.",
      severity: "error",
      from: { path: "^web/src/pure/" },
      to: {
        pathNot: [
          "^web/src/pure/",
          "^src/((jobs/[a-z-]+|events)/(summary-)?contract|contract/(me|profiles)|events/(event|sentence))[.]ts$",
        ],
      },
    },
    {
      name: "resolvable",
      comment: "No other rule checks an import that leads nowhere.",
      severity: "error",
      from: { path: "^(src|web)/" },
      to: { couldNotResolve: true },
    },
    {
      name: "declared-package",
      comment:
        "The build bundles the packages that package.json names; another one vanishes with the package that brought it.",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    },
  ],
  options: {
    // dependency-cruiser's own TypeScript parser needs a compiler API, which TypeScript 7 does not have.
    parser: "swc",
    tsPreCompilationDeps: false,
    moduleSystems: ["es6", "cjs"],
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
      mainFields: ["main"],
    },
  },
};
