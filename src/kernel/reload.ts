/**
 * The configuration file of a worker while it runs, which is read again when it has changed, or on SIGHUP. If it is
 * valid, the worker restarts its work with these tasks, all of them; if not, nothing changes, and an event says so.
 */
import { statSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "#config/config.ts";
import { messageOf } from "#core/errors.ts";
import { every, secondMs } from "#core/time.ts";
import type { Kernel } from "./kernel.ts";

/** A file that is still being written looks another way at the next look. */
const lookEveryMs = secondMs;

/** A newer configuration, and what was seen of its file. */
export type Reloaded = { readonly config: Config; readonly seen: string };

/** @param seen `lookAt` the file when the configuration in use was read */
export function watchConfig({ config, logger, accounts }: Kernel, load: () => Config, seen: string) {
  const changed = new AbortController();
  let lastRead = seen;
  let settled = seen;
  let next: Reloaded | undefined;
  let isRejected = false;

  const stop = (): void => {
    stopLooking();
    process.off("SIGHUP", readAgain);
  };

  const readAgain = (): void => {
    lastRead = lookAt(config);
    try {
      const newer = load();
      isRejected = false;
      const isSame = newer.tasksHash === config.tasksHash;
      // Changed profiles are taken with changed tasks only.
      if (
        needsRestart(config, newer) ||
        (isSame && !isDeepStrictEqual(factsOfProfiles(config), factsOfProfiles(newer)))
      ) {
        logger.warn("the configuration has changes that need a restart; only changes of tasks are applied without one");
      }
      if (isSame) return logger.info("the configuration was read: its tasks are the same");
      next = { config: withTasksOf(config, newer), seen: lastRead };
      stop();
      changed.abort();
    } catch (thrown) {
      isRejected = true;
      const reason = messageOf(thrown);
      logger.error({ reason }, "the changed configuration is not valid: the previous one stays in use");
      void accounts.emit("configuration.rejected", { reason });
    }
  };

  const stopLooking = every(lookEveryMs, () => {
    const look = lookAt(config);
    if (look === settled && look !== lastRead) readAgain();
    settled = look;
  });
  process.on("SIGHUP", readAgain);
  return {
    /** Aborts when there is a newer configuration, which is then in `next`. */
    signal: changed.signal,
    next: () => next,
    /** Whether the file was not valid when it was last read. */
    isRejected: () => isRejected,
    stop,
  };
}

/** Fingerprint that changes with each write of the configuration file. Empty without one. */
export function lookAt({ file }: Pick<Config, "file">): string {
  const stats = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.ino} ${stats.mtimeMs} ${stats.size}`;
}

/** The configuration with a newer one's tasks, and the profiles they name: their credentials may have been replaced. */
function withTasksOf(config: Config, newer: Config): Config {
  const taken = ["sections", "seal", "profiles", "tasksHash"];
  const tasks = Object.entries(newer).filter(([key]) => taken.includes(key));
  return { ...config, ...(Object.fromEntries(tasks) as Partial<Config>) };
}

/** Whether settings have changed that count only after a restart. */
function needsRestart(config: Config, newer: Config): boolean {
  const { warnings: _, ...rest } = withTasksOf(config, newer);
  const { warnings: __, ...all } = newer;
  return !isDeepStrictEqual(rest, all);
}

/** Facts by which profiles are compared. Files with secrets are watched, whatever is in them. */
function factsOfProfiles({ profiles }: Config): object {
  return Object.fromEntries(
    Object.entries(profiles).map(([name, { profile, language, secrets, credentials }]) => {
      const { files } = secrets;
      return [name, { profile, language, files, credentials: files.length === 0 ? credentials : [] }];
    }),
  );
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
