/** The manifests of deploy/kubernetes: valid for Kubernetes, and about settings, ports and paths that simfleet has. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { load, loadAll } from "js-yaml";
import { usualFiles } from "#config/load.ts";
import { schedulesSection } from "#jobs/schedules/config.ts";
import { settingsOf } from "#config/setting.ts";
import { unless } from "../support/left-out.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { configSchema, reading } from "../unit/config/support.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}deploy/kubernetes`;
const read = (path: string): string => readFileSync(`${folder}/${path}`, "utf8");

type Models<Kind extends string> = Record<Kind, new (manifest: object) => { validate(): void }>;

// The types of this package do not pass the checks of this project's compiler.
const require = createRequire(import.meta.url);
const kinds = {
  ...(require("kubernetes-models/apps/v1/Deployment") as Models<"Deployment">),
  ...(require("kubernetes-models/apps/v1/StatefulSet") as Models<"StatefulSet">),
  ...(require("kubernetes-models/networking.k8s.io/v1/NetworkPolicy") as Models<"NetworkPolicy">),
  ...(require("kubernetes-models/policy/v1/PodDisruptionBudget") as Models<"PodDisruptionBudget">),
  ...(require("kubernetes-models/v1/ConfigMap") as Models<"ConfigMap">),
  ...(require("kubernetes-models/v1/Service") as Models<"Service">),
  ...(require("kubernetes-models/v1/ServiceAccount") as Models<"ServiceAccount">),
  ...(require("kubernetes-models/rbac.authorization.k8s.io/v1/Role") as Models<"Role">),
  ...(require("kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding") as Models<"RoleBinding">),
};

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: string[];
  readonly args?: string[];
  readonly ports?: { name: string; containerPort: number }[];
  readonly securityContext?: object;
  readonly resources?: { requests: object; limits: object };
  readonly volumeMounts?: { name: string; mountPath: string }[];
  readonly [probe: string]: unknown;
}

interface Manifest {
  readonly kind: keyof typeof kinds;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly selector: Readonly<Record<string, unknown>>;
    readonly ports?: { targetPort: string }[];
    readonly template: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: {
        readonly initContainers?: Container[];
        readonly containers: Container[];
        readonly volumes: { name: string; secret?: { secretName: string } }[];
        readonly [key: string]: unknown;
      };
    };
  };
}

function documents(text: string): Manifest[] {
  return loadAll(text) as Manifest[];
}

const base = ["worker", "redis", "network"].flatMap((name) => documents(read(`base/${name}.yaml`)));
const overlays = ["one-worker", "several-workers", "sandbox"];
const workloads = base.filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
const containers = workloads.flatMap(({ spec: { template } }) => [
  ...(template.spec.initContainers ?? []),
  ...template.spec.containers,
]);
const worker = workloads.find(({ kind }) => kind === "Deployment");
const pod = worker?.spec.template.spec;

function settingsIn(place: string): Record<string, string> {
  const lines = read(`${place}/settings.env`)
    .split("\n")
    .filter((line) => /^[A-Z]/.test(line));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

/** Paths of the fields that Kubernetes does not have: the generated validators ignore them, so they never read them. */
function unknownFields(manifest: Manifest): string[] {
  const unread = new Set<string>();
  const watch = (value: unknown, path: string): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const fields = Object.entries(value).map(([key, field]) => [key, watch(field, `${path}/${key}`)] as const);
    for (const [key] of fields) unread.add(`${path}/${key}`);
    const copy = Array.isArray(value) ? fields.map(([, field]) => field) : Object.fromEntries(fields);
    return new Proxy(copy, {
      get: (target, key) => {
        unread.delete(`${path}/${String(key)}`);
        return Reflect.get(target, key) as unknown;
      },
    });
  };
  const model = new kinds[manifest.kind]({});
  const watched = watch(manifest, "") as Manifest;
  for (const key of Object.keys(manifest) as (keyof Manifest)[]) {
    Object.defineProperty(model, key, { enumerable: true, get: () => watched[key] });
  }
  model.validate();
  return [...unread];
}

/** The folder of a mounted Secret, and one for copies of its keys. */
function setupSecrets(): { from: string; to: string } {
  const work = temporaryFolder();
  const [from, to] = [join(work, "mounted"), join(work, "secrets")];
  for (const place of [from, to, join(from, "..data")]) mkdirSync(place);
  return { from, to };
}

describe("the Kubernetes manifests", () => {
  test.each(base.map((manifest) => [manifest.kind, manifest.metadata.name, manifest] as const))(
    "%s %s is valid for Kubernetes",
    (kind, _, manifest) => {
      expect(() => new kinds[kind](manifest).validate()).not.toThrow();
      const broken = { ...manifest, spec: { ...manifest.spec, selector: 7, podSelector: 7 } };
      expect(() => new kinds[kind](broken).validate()).toThrow();
      expect(unknownFields(manifest)).toEqual([]);
    },
  );

  test.each(containers.map((container) => [container.name, container] as const))(
    "the container %s has a read-only root, no privileges, and resources",
    (_, { securityContext, resources }) => {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(resources?.requests).toMatchObject({ cpu: expect.any(String) as unknown });
      expect(resources?.limits).toHaveProperty("memory");
    },
  );

  test("every pod runs as a numeric user other than root and without a token of the cluster", () => {
    for (const { spec } of workloads) {
      expect(spec.template.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
    }
    const dockerfile = readFileSync(`${root}Dockerfile`, "utf8");
    expect(dockerfile).toContain("\nUSER 10001:10001\n");
    expect(pod?.["securityContext"]).toMatchObject({ runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 });
    expect(pod?.["terminationGracePeriodSeconds"]).toBe(30);
  });

  test("the worker's probes ask the health checks at its port", () => {
    const container = pod?.containers[0];
    expect(container?.ports).toEqual([{ name: "http", containerPort: 8080 }]);
    const probe = (path: string): object => ({ httpGet: { path, port: "http" } });
    expect(container).toMatchObject({
      startupProbe: probe("/readyz"),
      readinessProbe: probe("/readyz"),
      livenessProbe: probe("/healthz"),
    });
    const service = base.find(({ kind, metadata }) => kind === "Service" && metadata.name === "simfleet");
    expect(service?.spec.ports?.map(({ targetPort }) => targetPort)).toEqual(["http"]);
    expect(service?.spec.selector).toEqual(worker?.spec.template.metadata.labels);
  });

  test("the settings are ones that simfleet knows, and its secrets are files that are mounted", () => {
    const isSecret = new Map(settingsOf(configSchema).map(({ variable, facts }) => [variable, facts.secret === true]));
    const files = ["base", "overlays/sandbox", "components/gateway"].map(settingsIn);
    const settings: Record<string, string> = Object.assign({}, ...files);
    for (const [name, value] of Object.entries(settings)) {
      expect([name, isSecret.has(name)]).toEqual([name, true]);
      expect([name, isSecret.get(name) === true && name !== "SIMFLEET_REDIS_URL"]).toEqual([name, false]);
      if (name.endsWith("_FILE")) expect(value).toMatch(/^\/run\/secrets\/simfleet\/[a-z-]+$/);
    }
    const mounts = pod?.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath);
    expect(mounts).toEqual(["/run/secrets/simfleet", "/etc/simfleet", "/data", "/tmp"]);
    expect(settings["SIMFLEET_REDIS_URL"]).toBe("redis://simfleet-redis:6379");
  });

  test("the ConfigMap of the settings file is made of a valid one, and mounted where the worker looks for it", () => {
    const { configMapGenerator } = load(read("base/kustomization.yaml")) as { configMapGenerator: object[] };
    expect(configMapGenerator).toContainEqual({ name: "simfleet-config", files: ["simfleet.yaml"] });
    expect(pod?.volumes).toContainEqual({ name: "config", configMap: { name: "simfleet-config" } });
    expect(usualFiles).toContain("/etc/simfleet/simfleet.yaml");
    const env = { SIMFLEET_AUTH_KEY_ID: "keyId-1", SIMFLEET_AUTH_KEY: "secret-1" };
    const schedules = reading(schedulesSection)(read("base/simfleet.yaml"), env);
    expect(schedules.map(({ name }) => name)).toEqual(["nightly-sync"]);
  });

  test("Redis and the worker take the password of Redis from the same secret", () => {
    const redis = workloads.find(({ kind }) => kind === "StatefulSet")?.spec.template.spec.containers[0];
    const key = "redis-password";
    expect(redis?.args?.slice(0, 2)).toEqual(["--requirepass", "$(REDISCLI_AUTH)"]);
    expect(redis?.["env"]).toEqual([{ name: "REDISCLI_AUTH", valueFrom: { secretKeyRef: { name: "simfleet", key } } }]);
    expect(pod?.volumes.find(({ name }) => name === "mounted")).toMatchObject({ secret: { secretName: "simfleet" } });
    expect(settingsIn("base")["SIMFLEET_REDIS_PASSWORD_FILE"]).toBe(`/run/secrets/simfleet/${key}`);
    const docs = readFileSync(`${root}docs/deploy.md`, "utf8");
    expect(docs).toContain(`--from-literal=${key}="$(openssl rand -hex 32)"\nkubectl apply -k `);
  });

  test("every volume that a container mounts exists", () => {
    const volumes = pod?.volumes.map(({ name }) => name);
    for (const { volumeMounts = [] } of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]) {
      for (const { name } of volumeMounts) expect(volumes).toContain(name);
    }
  });

  test("the secrets that the worker gets belong to its user and can be read by it alone", () => {
    const [copy] = pod?.initContainers ?? [];
    const { from, to } = setupSecrets();
    writeFileSync(join(from, "auth-key"), "secret-example", { mode: 0o440 });
    const args = copy?.command?.slice(1, -2) ?? [];
    expect(copy?.command?.slice(-2)).toEqual(["/mounted", "/run/secrets/simfleet"]);
    const { status, stderr } = spawnSync(process.execPath, [...args, from, to], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(readFileSync(join(to, "auth-key"), "utf8")).toBe("secret-example");
    expect(statSync(join(to, "auth-key")).mode & 0o777).toBe(0o400);
  });

  test("every overlay builds on the base and names the image of this version", () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };
    for (const overlay of overlays) {
      const { resources, images } = load(read(`overlays/${overlay}/kustomization.yaml`)) as {
        resources: string[];
        images: { name: string; newTag: string }[];
      };
      expect(resources).toEqual(["../../base"]);
      expect(images).toMatchObject([{ name: "simfleet", newTag: version }]);
    }
    expect(containers.filter(({ image }) => image === "simfleet")).toHaveLength(2);
  });
});

/** The command that builds an overlay; undefined where none is installed. */
const kustomize = [
  ["kustomize", "build"],
  ["kubectl", "kustomize"],
].find(([command = "", ...args]) => spawnSync(command, [...args, "--help"]).status === 0);
const withoutKustomize = unless(kustomize !== undefined, "no kustomize here");

function build(place: string): Manifest[] {
  const [command = "", ...args] = kustomize ?? [];
  const built = spawnSync(command, [...args, place], { encoding: "utf8" });
  expect({ status: built.status, stderr: built.stderr }).toEqual({ status: 0, stderr: "" });
  const manifests = documents(built.stdout);
  for (const manifest of manifests) {
    expect(() => new kinds[manifest.kind](manifest).validate()).not.toThrow();
    expect(unknownFields(manifest)).toEqual([]);
  }
  return manifests;
}

const settingsOfWorker = (manifests: readonly Manifest[]) =>
  manifests.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name.startsWith("simfleet-settings"))?.data;

/** An overlay of a user: three workers with a component. */
function withComponent(name: string): Manifest[] {
  const place = temporaryFolder();
  const from = (path: string): string => relative(realpathSync(place), join(folder, path));
  const overlay = { resources: [from("overlays/several-workers")], components: [from(`components/${name}`)] };
  writeFileSync(join(place, "kustomization.yaml"), JSON.stringify(overlay));
  return build(place);
}

describe.skipIf(kustomize === undefined)(`overlays and components${withoutKustomize}`, () => {
  test("the component rotation may replace the keys of one Secret", () => {
    const manifests = withComponent("rotation");
    const role = manifests.find(({ kind }) => kind === "Role") as unknown as { rules: object[] };
    expect(role.rules).toEqual([
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["simfleet"], verbs: ["patch"] },
    ]);
    const { spec } = manifests.find(({ kind }) => kind === "Deployment")?.spec.template ?? {};
    expect(spec).toMatchObject({ serviceAccountName: "simfleet-rotation", automountServiceAccountToken: true });
  });

  test("the component rotation copies keys that have changed", async () => {
    const { spec } = withComponent("rotation").find(({ kind }) => kind === "Deployment")?.spec.template ?? {};
    const copier = spec?.containers.find(({ name }) => name === "secrets");
    const { from, to } = setupSecrets();
    const copying = spawn(process.execPath, ["-e", copier?.command?.[2]?.replace("5000", "20") ?? "", from, to]);
    onTestFinished(() => void copying.kill("SIGKILL"));
    const copy = join(to, "auth-key");
    for (const content of ["first", "second"]) {
      writeFileSync(join(from, "auth-key"), content);
      await until("the secret is copied", () => existsSync(copy) && readFileSync(copy, "utf8") === content);
      expect(statSync(copy).mode & 0o777).toBe(0o400);
    }
  });

  test("the component gateway opens the gateway of the worker, with a token", () => {
    const manifests = withComponent("gateway");
    const of = (kind: Manifest["kind"], name: string): Manifest["spec"] | undefined =>
      manifests.find((one) => one.kind === kind && one.metadata.name === name)?.spec;
    const deployment = of("Deployment", "simfleet-worker");
    const opened = deployment?.template.spec.containers[0]?.ports?.map(({ name }) => name);
    const served = of("Service", "simfleet")?.ports?.map(({ targetPort }) => targetPort);
    for (const ports of [opened, served]) expect(ports?.toSorted()).toEqual(["gateway", "http"]);
    expect(deployment?.replicas).toBe(3);
    const ingress = [{ ports: [{ port: "http" }, { port: "gateway" }] }];
    expect(of("NetworkPolicy", "simfleet-worker")).toMatchObject({ ingress });
    const settings = settingsOfWorker(manifests);
    for (const place of ["components/gateway", "base"]) expect(settings).toMatchObject(settingsIn(place));
  });

  test.each(overlays)("the overlay %s builds to valid manifests", (overlay) => {
    const manifests = build(`${folder}/overlays/${overlay}`);
    const deployment = manifests.find(({ kind }) => kind === "Deployment");
    const names = deployment?.spec.template.spec.containers.map(({ name }) => name);
    expect(names).toEqual(overlay === "sandbox" ? ["worker", "sandbox"] : ["worker"]);
    expect(deployment?.spec.replicas).toBe(overlay === "several-workers" ? 3 : 1);
    const settings = settingsOfWorker(manifests);
    expect(settings?.["SIMFLEET_ENDPOINT_GLOBAL"]).toMatch(overlay === "sandbox" ? /127\.0\.0\.1:8787/ : /^https:/);
  });
});
