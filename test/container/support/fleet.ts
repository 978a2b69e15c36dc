/**
 * Containers on a network of their own: Redis, the simulator behind TLS, workers, and one in which commands run. Those
 * of simfleet have the image `simfleet`, which compose.yaml builds, and get no more rights than there.
 */
import { readFileSync } from "node:fs";
import { chown, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  GenericContainer,
  getContainerRuntimeClient,
  ImageName,
  Network,
  type StartedNetwork,
  type StartedTestContainer,
  Wait,
} from "testcontainers";
import { root } from "../../e2e/support/built-cli.ts";
import { createAuthority } from "../../support/certificates.ts";
import { isRoot } from "../../support/left-out.ts";

// It would remove what a killed test leaves behind, and is one more image to pull.
process.env["TESTCONTAINERS_RYUK_DISABLED"] = "true";

const image = "simfleet";
const redisImage = / image: (redis:\S+)/.exec(readFileSync(join(root, "compose.yaml"), "utf8"))?.[1] ?? "";
/** Owner of the mounted files, and user of the processes: the user of the image if root runs the tests. */
const user = isRoot ? 10_001 : (process.getuid?.() ?? 0);

/** Why there can be no fleet here, if there is a reason. */
export async function withoutEngine(): Promise<string | undefined> {
  try {
    const client = await getContainerRuntimeClient();
    return (await client.image.exists(ImageName.fromString(image))) ? undefined : `no image ${image}`;
  } catch {
    return "no container engine";
  }
}

class Contained extends GenericContainer {
  override readonly hostConfig = { ReadonlyRootfs: true, SecurityOpt: ["no-new-privileges:true"], PidsLimit: 128 };
}

/** Ends TLS and passes the bytes on to the sandbox, with which it shares the network. */
const tlsServer = `
  const { cert, key } = process.env;
  require("node:tls").createServer({ cert, key }, (socket) => {
    const sandbox = require("node:net").connect(8787, "127.0.0.1");
    socket.on("error", () => sandbox.destroy()).pipe(sandbox).on("error", () => socket.destroy()).pipe(socket);
  }).listen(8443, () => console.log("TLS is ready"));`;

export interface FleetOptions {
  readonly rows: number;
  /** Calls per window of four seconds. */
  readonly limit: number;
  /** Lines of simfleet.yaml. */
  readonly settings?: string;
}

export interface RunDocument {
  readonly runId: string;
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly throttled: number;
}

export class Fleet implements AsyncDisposable {
  /** Mounted as /fleet, with `secrets`, `in` and simfleet.yaml. */
  readonly folder: string;
  readonly simIds: readonly string[];
  readonly #network: StartedNetwork;
  readonly #started: StartedTestContainer[] = [];
  redis!: StartedTestContainer;
  sandbox!: StartedTestContainer;
  #commands!: StartedTestContainer;

  private constructor(network: StartedNetwork, folder: string, rows: number) {
    this.#network = network;
    this.folder = folder;
    this.simIds = Array.from({ length: rows }, (_, n) => String(8_942_310_000_000_000_000n + BigInt(n)));
  }

  static async open({ rows, limit, settings = "" }: FleetOptions): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), "simfleet-containers-"));
    const fleet = new Fleet(await new Network().start(), folder, rows);
    try {
      await fleet.#open(limit, settings);
    } catch (thrown) {
      await fleet[Symbol.asyncDispose]();
      throw thrown;
    }
    return fleet;
  }

  async #open(limit: number, settings: string): Promise<void> {
    const authority = createAuthority();
    const platform = authority.issue("platform", ["platform"]);
    for (const path of ["", "secrets", "in"]) {
      await mkdir(join(this.folder, path), { recursive: true });
      await chown(join(this.folder, path), user, user);
    }
    await this.write("ca.pem", authority.cert);
    await this.write("simfleet.yaml", settings);
    await this.write("ids.csv", `simId\n${this.simIds.join("\n")}\n`);
    await this.write("secrets/auth-key", JSON.stringify({ authKeyId: "keyId-sandbox", authKey: "secret-sandbox" }));
    await this.write("secrets/seal-key", "5ea1".repeat(16));
    const sandbox = ["simfleet", "sandbox", "--host", "0.0.0.0", "--operations", "all", "--ids-from", "/fleet/ids.csv"];
    const quotas = ["--period", "4", "--limit", `Sim=${limit}`, "--limit", "Operator=600", "--limit", "Auth=1000"];
    [this.redis, this.sandbox] = await Promise.all([
      this.#start(
        new GenericContainer(redisImage)
          .withUser("999:999")
          .withNetworkAliases("redis")
          .withCommand(["redis-server", "--requirepass", "password", "--appendonly", "yes", "--save", ""])
          // Not its log: after a restart the line may have been written before it is looked for.
          .withWaitStrategy(Wait.forSuccessfulCommand("redis-cli -a password ping | grep PONG")),
      ),
      this.#start(
        this.#contained([...sandbox, ...quotas])
          .withNetworkAliases("platform")
          .withWaitStrategy(Wait.forLogMessage(/listen/i)),
      ),
    ]);
    await this.#start(
      new GenericContainer(image)
        .withNetworkMode(`container:${this.sandbox.getId()}`)
        .withEnvironment({ ...platform })
        .withCommand(["node", "-e", tlsServer])
        .withWaitStrategy(Wait.forLogMessage(/TLS is ready/)),
      null,
    );
    this.#commands = await this.#start(
      this.#contained(["sh", "-c", "echo up; sleep 3600"]).withWaitStrategy(Wait.forLogMessage(/up/)),
    );
  }

  /** A worker that is ready. */
  worker(): Promise<StartedTestContainer> {
    const worker = this.#contained(["node", "/app/dist/worker.js"]);
    return this.#start(worker.withWaitStrategy(Wait.forLogMessage(/the worker is ready/)));
  }

  /** Runs a command and gives its output. @throws Error if it fails */
  async run(...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#commands.exec(["simfleet", ...args]);
    if (exitCode !== 0) throw new Error(`simfleet ${args.join(" ")} ended with ${exitCode}:\n${stdout}${stderr}`);
    return stdout;
  }

  /** What a command prints with `--json`. */
  async json<T = RunDocument>(...args: string[]): Promise<T> {
    return JSON.parse(await this.run(...args, "--json")) as T;
  }

  /** A document of the sandbox's control paths, which only its own machine may read. */
  async ofSandbox<T>(...paths: string[]): Promise<T[]> {
    const script = `Promise.all(${JSON.stringify(paths)}.map(async (path) =>
      (await fetch("http://127.0.0.1:8787/_sandbox/" + path)).json())).then((all) => console.log(JSON.stringify(all)))`;
    const { exitCode, stdout, stderr } = await this.sandbox.exec(["node", "-e", script]);
    if (exitCode !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as T[];
  }

  /** Writes a file for the user of the containers alone, and puts it in its place with a rename. */
  async write(path: string, content: string): Promise<void> {
    const place = join(this.folder, path);
    await writeFile(`${place}.part`, content, { mode: 0o600 });
    await chown(`${place}.part`, user, user);
    await rename(`${place}.part`, place);
  }

  async kill(container: StartedTestContainer): Promise<void> {
    const client = await getContainerRuntimeClient();
    await client.container.getById(container.getId()).kill();
  }

  /** Null while it runs. */
  async exitCode(container: StartedTestContainer): Promise<number | null> {
    const client = await getContainerRuntimeClient();
    const { State: state } = await client.container.inspect(client.container.getById(container.getId()));
    return state.Running ? null : state.ExitCode;
  }

  async cutOff(container: StartedTestContainer): Promise<void> {
    const { network } = await getContainerRuntimeClient();
    await network.getById(this.#network.getId()).disconnect({ Container: container.getId(), Force: true });
  }

  async connect(container: StartedTestContainer): Promise<void> {
    const { network } = await getContainerRuntimeClient();
    await network.getById(this.#network.getId()).connect({ Container: container.getId() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = await getContainerRuntimeClient();
    for (const container of this.#started.toReversed()) {
      await client.container.getById(container.getId()).remove({ force: true, v: true });
    }
    await this.#network.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  #contained(command: string[]): GenericContainer {
    return new Contained(image)
      .withUser(`${user}:${user}`)
      .withDroppedCapabilities("ALL")
      .withTmpFs({ "/tmp": "size=64m,mode=1777,noexec,nosuid", "/data": `mode=700,uid=${user},gid=${user}` })
      .withBindMounts([{ source: this.folder, target: "/fleet", mode: "rw" }])
      .withEnvironment({
        SIMFLEET_CONFIG: "/fleet/simfleet.yaml",
        SIMFLEET_REDIS_URL: "redis://redis:6379",
        SIMFLEET_REDIS_PASSWORD: "password",
        SIMFLEET_DEPLOYMENT: "soracom",
        SIMFLEET_BRAND: "Svc",
        SIMFLEET_COVERAGE: "g",
        SIMFLEET_ENDPOINT_GLOBAL: "https://platform:8443",
        SIMFLEET_JWKS_URL: "https://platform:8443/.well-known/jwks.json",
        SIMFLEET_RATE_PERIOD_SECONDS: "4",
        SIMFLEET_AUTH_KEY_FILE: "/fleet/secrets/auth-key",
        NODE_EXTRA_CA_CERTS: "/fleet/ca.pem",
      })
      .withCommand(command);
  }

  async #start(
    container: GenericContainer,
    network: StartedNetwork | null = this.#network,
  ): Promise<StartedTestContainer> {
    const started = await (network === null ? container : container.withNetwork(network)).start();
    this.#started.push(started);
    return started;
  }
}
