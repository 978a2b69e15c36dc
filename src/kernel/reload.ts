/**
 * The configuration file of a worker while it runs: when the file has changed, or on SIGHUP, it is read again. If it is
 * valid, the worker restarts its work with these tasks, all of them; if it is not, nothing changes, and an event says so.
 */
import { statSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { featureSections } from "#config/features.ts";
import type { Config } from "#config/config.ts";
import { messageOf } from "#core/errors.ts";
import { every, secondMs } from "#core/time.ts";
import type { Kernel } from "./kernel.ts";

/** A file that is still being written looks another way at the next look. */
const lookEveryMs = secondMs;

export class ConfigReload {
  /** Aborts when there is a newer configuration, which is then in `next`. */
  readonly signal: AbortSignal;
  next: { readonly config: Config; readonly seen: string } | undefined;
  /** Whether the file was not valid when it was last read. */
  isRejected = false;
  readonly #changed = new AbortController();
  readonly #kernel: Kernel;
  readonly #load: () => Config;
  readonly #stopLooking: () => void;
  #seen: string;

  /** @param seen `lookAt` the file when the configuration in use was read */
  constructor(kernel: Kernel, load: () => Config, seen: string) {
    this.#kernel = kernel;
    this.#load = load;
    this.signal = this.#changed.signal;
    this.#seen = seen;
    let settled = seen;
    this.#stopLooking = every(lookEveryMs, () => {
      const look = lookAt(kernel.config);
      if (look === settled && look !== this.#seen) this.read();
      settled = look;
    });
    process.on("SIGHUP", this.read);
  }

  readonly read = (): void => {
    const { config, logger, accounts } = this.#kernel;
    this.#seen = lookAt(config);
    try {
      const newer = this.#load();
      this.isRejected = false;
      if (needsRestart(config, newer)) {
        logger.warn("the configuration has changes that need a restart; only changes of tasks are applied without one");
      }
      if (newer.tasksHash === config.tasksHash)
        return logger.info("the configuration was read: its tasks are the same");
      this.next = { config: withTasksOf(config, newer), seen: this.#seen };
      this.stop();
      this.#changed.abort();
    } catch (thrown) {
      this.isRejected = true;
      const reason = messageOf(thrown);
      logger.error({ reason }, "the changed configuration is not valid: the previous one stays in use");
      void accounts.emit("configuration.rejected", { reason });
    }
  };

  stop(): void {
    this.#stopLooking();
    process.off("SIGHUP", this.read);
  }
}

/** Fingerprint that changes with each write of the configuration file. Empty without one. */
export function lookAt({ file }: Pick<Config, "file">): string {
  const stats = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.ino} ${stats.mtimeMs} ${stats.size}`;
}

/**
 * The configuration with the tasks of a newer one, and the profiles that they name: their credentials may have been
 * replaced since.
 */
function withTasksOf(config: Config, newer: Config): Config {
  const taken = [...Object.keys(featureSections), "triggers", "sections", "seal", "profiles", "tasksHash"];
  const tasks = Object.entries(newer).filter(([key]) => taken.includes(key));
  return { ...config, ...(Object.fromEntries(tasks) as Partial<Config>) };
}

/** Whether settings have changed that count only after a restart. */
function needsRestart(config: Config, newer: Config): boolean {
  const { warnings: _, ...rest } = withTasksOf(config, newer);
  const { warnings: __, ...all } = newer;
  return !isDeepStrictEqual(rest, all);
}

// Each worker announces what its tasks are, so that commands and `check` can compare it with their own.

const announced = "configurations";
const noTasks = "none";

/** Until the app closes. */
export async function announceTasks({ workerRegistry, config, accounts, lifecycle }: Kernel): Promise<void> {
  const leave = await workerRegistry.announce(announced, `${config.tasksHash ?? noTasks} ${accounts.worker}`);
  lifecycle.onStop("configuration", leave);
}

/** The tasks of the workers that run now; the hash is `none` where the configuration has none. */
export async function tasksOfWorkers({ workerRegistry }: Pick<Kernel, "workerRegistry">) {
  return (await workerRegistry.workers(announced)).map((id) => {
    const [hash = "", worker = ""] = id.split(" ");
    return { worker, hash };
  });
}
