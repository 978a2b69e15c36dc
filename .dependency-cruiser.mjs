/**
 * The rooms of src/ and their doors: which room may import from which, and why. Type imports count like any other, since
 * a type ties two rooms together as well. `npm run rooms` checks it; docs/walk.md tells the same in words.
 */

/** A folder of src/ that is missing here is reported, so that a new room gets its doors by decision. */
export const rooms = {
  core: { opens: [], reason: "core is what everything stands on; it knows nothing of the product." },
  fleet: { opens: ["core"], reason: "The nouns are types and parsers, without any input or output." },
  redis: { opens: ["core"], reason: "The connection knows nothing of what is kept in it." },
  telemetry: { opens: ["core"], reason: "Everything logs, so that logging may depend on nothing." },
  config: {
    opens: ["events", "fleet", "core"],
    reason:
      "Rooms get values from app.ts; the loader knows none of them, but the catalogue of events and what address is open.",
  },
  intake: { opens: ["fleet", "core"], reason: "Reading a file must not need a Redis or a platform." },
  limiter: { opens: ["redis", "core"], reason: "Buckets know of calls, not of what is called." },
  store: {
    opens: ["events", "redis", "fleet", "core"],
    reason: "The ledger is written to and tells of its changes in the same step; it starts nothing.",
  },
  events: { opens: ["redis", "fleet", "core"], reason: "Events are told to it; it fetches nothing." },
  api: { opens: ["limiter", "telemetry", "fleet", "core"], reason: "The client knows the platform, not runs or rows." },
  jobs: {
    opens: ["api", "store", "intake", "events", "limiter", "telemetry", "fleet", "core"],
    reason: "A job gives an outcome back as a value; it does not know the queue that runs it.",
  },
  queue: {
    opens: ["jobs", "limiter", "store", "redis", "telemetry", "fleet", "core"],
    reason: "The queue carries jobs and reads their verdict; it calls nobody above.",
  },
  runs: {
    opens: ["queue", "jobs", "store", "intake", "events", "limiter", "fleet", "core"],
    reason: "The front desk of command line and HTTP: both get the same answers from here.",
  },
  sandbox: {
    opens: ["fleet", "core"],
    reason: "It states the platform's contract a second time, so that a mistake of the client is not mirrored.",
  },
  http: {
    opens: ["app", "runs", "events", "telemetry", "fleet", "core", "config", "limiter"],
    reason: "A route asks the front desk; it does not reach into the queue, the store or the platform.",
  },
  cli: {
    opens: ["app", "runs", "intake", "events", "telemetry", "fleet", "core", "config", "limiter", "sandbox"],
    reason: "A command asks the front desk; it does not reach into the queue, the store or the platform.",
  },
};

/** Packages that one place alone may import; rooms (and files) of `types` may name
 * their types, which leave no trace at run time. */
export const packages = {
  bullmq: { files: "queue/", types: [], reason: "The engine can be replaced where one room alone knows it." },
  ioredis: {
    files: "redis/",
    types: [
      "limiter",
      "store",
      "queue",
      "events",
      "app.ts",
      "app-rotations.ts",
      "app-auth-keys.ts",
      "app-stores.ts",
      "app-webhooks.ts",
      "app-control.ts",
    ],
    reason: "Connections are made in one place, with one set of options; others are handed one.",
  },
  undici: {
    files: "(api/transport|events/webhook)[^/]*[.]ts$",
    types: [],
    reason: "Requests leave by two doors alone, where timeouts, size caps and redirects are decided.",
  },
};

/** The files of src/ that lie outside the rooms, and may open every door. */
export const hall = [
  "cli.ts",
  "worker.ts",
  "serve.ts",
  "app.ts",
  "app-accounts.ts",
  "app-auth-keys.ts",
  "app-control.ts",
  "app-http.ts",
  "app-rotations.ts",
  "app-stores.ts",
  "app-unattended.ts",
  "app-webhooks.ts",
];

const doors = Object.entries(rooms).map(([room, { opens, reason }]) => {
  const inside = [room, ...opens.filter((name) => name !== "app")].join("|");
  const allowed = [`^src/(${inside})/`, ...(opens.includes("app") ? ["^src/app[.]ts$"] : [])];
  return {
    name: `door-of-${room}`,
    comment: `${room} imports from ${opens.join(", ") || "no other room"}. ${reason}`,
    severity: "error",
    from: { path: `^src/${room}/` },
    to: { path: "^src/", pathNot: allowed },
  };
});

const packageDoors = Object.entries(packages).map(([name, { files, types, reason }]) => ({
  name: `only-door-to-${name}`,
  comment: `${name} is imported by src/${files} alone. ${reason}`,
  severity: "error",
  from: { path: "^src/", pathNot: [`^src/${files}`, ...types.map((room) => `^src/${room}(/|$)`)] },
  to: { path: `(^|/)node_modules/${name}/` },
}));

export default {
  forbidden: [
    ...doors,
    ...packageDoors,
    {
      name: "no-cycle",
      comment: "Files that import each other can be understood and tested only together.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "entries-are-not-imported",
      comment: "cli.ts and worker.ts begin a process; what others need of them belongs in a room.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(cli|worker)[.]ts$" },
      to: { path: "^src/(cli|worker)[.]ts$" },
    },
    {
      name: "src-stands-alone",
      comment: "What is delivered is src/ compiled: it may not need tests, benchmarks or scripts.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|scripts|dist|examples)/" },
    },
    {
      name: "pure-logic",
      comment: "What lies in web/src/pure is tested without a browser: it knows no page, no request and no component.",
      severity: "error",
      from: { path: "^web/src/pure/" },
      to: { pathNot: "^web/src/pure/" },
    },
    {
      name: "resolvable",
      comment: "An import that leads nowhere is checked by no other rule.",
      severity: "error",
      from: { path: "^(src|web)/" },
      to: { couldNotResolve: true },
    },
    {
      name: "declared-package",
      comment: "A production install has the dependencies of package.json alone, without the development ones.",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"] },
    },
  ],
  options: {
    // Without it the TypeScript compiler is looked for, whose version 7 has no interface: nothing would be cruised.
    parser: "swc",
    tsPreCompilationDeps: false,
    moduleSystems: ["es6", "cjs"],
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default"],
      mainFields: ["main"],
    },
  },
};
