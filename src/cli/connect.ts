/**
 * Opens what a command works with: the app in this process, or a remote worker. It also writes the audit entry of a
 * local command that changes something. Context loads this file when a command connects.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { audit } from "#jobs/audit/feature.ts";
import { App } from "#kernel/app.ts";
import { localClient } from "#contract/client.ts";
import type { Config } from "#config/config.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { sectionsOf } from "#config/feature-section.ts";
import { loadConfig, usualFiles } from "#config/load.ts";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { limitHeapOfCommand } from "#core/process/heap-room.ts";
import { isLoopback } from "#core/loopback.ts";
import { Secret } from "#core/secrets/secret.ts";
import { createLogger } from "#telemetry/logger.ts";
import { tasksOfWorkers } from "#kernel/reload.ts";
import { documentOfEvent } from "#events/contract.ts";
import type { Caller, CommonOptions, Context } from "./context.ts";
import type { Output } from "./output.ts";
import { remoteWorker } from "./remote-worker.ts";

/**
 * For a command that only works locally.
 * @returns reads the configuration, again with each call. It throws ConfigError, or SimfleetError USAGE with `--server`
 */
export async function localConfig(context: Context, options: CommonOptions): Promise<() => Config> {
  const read = await configOf(context, options);
  return () => {
    const config = read();
    if (config.server === undefined) return config;
    throw new SimfleetError(
      "USAGE",
      `This command only works locally and cannot be sent to ${config.server.url}: leave out --server and SIMFLEET_SERVER`,
    );
  };
}

async function configOf({ io: { env }, features }: Context, options: CommonOptions, more?: { isForCommand: true }) {
  const profile = options.profile === undefined ? {} : { SIMFLEET_PROFILE: options.profile };
  const server = options.server === undefined ? {} : { SIMFLEET_SERVER: options.server };
  const sections = await sectionsOf(features);
  return () => loadConfig({ file: options.config, env: { ...env, ...profile, ...server }, sections, ...more });
}

/** Runs a command that calls routes (`Context.connect`). */
export async function connect<T>(context: Context, options: CommonOptions, use: (caller: Caller) => Promise<T>) {
  const config = (await configOf(context, options, { isForCommand: true }))();
  const { env, interrupt } = context.io;
  if (config.server === undefined) {
    return withApp(context, config, async (app) => {
      const output = context.output(options);
      await warnOfOtherTasks(output, app);
      return use(localCaller(context, app, output));
    });
  }
  const { url, token = localToken(url, config.dataDir) } = config.server;
  const profile = options.profile ?? env.SIMFLEET_PROFILE;
  limitHeapOfCommand();
  const output = context.output(options);
  return use({ ...remoteWorker({ url, token }, interrupt), profile, app: undefined, output, interrupt });
}

/** A command that goes by other schedules or rotations than the workers is likely to surprise. */
async function warnOfOtherTasks(output: Output, { kernel }: App): Promise<void> {
  const { tasksHash } = kernel.config;
  if (tasksHash === undefined) return;
  const other = (await tasksOfWorkers(kernel)).find(({ hash }) => hash !== tasksHash);
  if (other === undefined) return;
  output.say(
    `Warning: the worker ${other.worker} has another configuration (${other.hash}) than this command (${tasksHash}).`,
  );
}

export function localCaller(context: Context, app: App, output: Output): Caller {
  const { actor, io } = context;
  const { interrupt } = io;
  return {
    client: localClient((route) => app.endpointOf(route), {
      by: actor,
      signal: interrupt,
      note: (about, made) => (context.done = { about, made }),
    }),
    profile: app.kernel.config.profile,
    app,
    output,
    interrupt,
    async *follow({ type, profile }, id) {
      const ofProfiles = ["", profile];
      for await (const events of app.kernel.tail.follow(id, interrupt)) {
        yield events
          .filter((event) => type?.includes(event.type) !== false)
          .filter((event) => profile === undefined || ofProfiles.includes(event.profile))
          .map(documentOfEvent);
      }
    },
  };
}

/** Opens the app, calls `use`, and always closes the app again. */
export async function withApp<T>(context: Context, config: Config, use: (app: App) => Promise<T>): Promise<T> {
  assertStore(context, config);
  const { features, command } = context;
  const { env, stderr } = context.io;
  const level = env.SIMFLEET_LOG_LEVEL === undefined ? "silent" : config.logLevel;
  const logger = createLogger({ level, destination: stderr });
  // Most commands call no other feature than their own and those that it needs; another is opened once it is called.
  const opens = command?.feature === undefined ? features : [audit, command.feature];
  const app = await App.open(config, { logger, env, features, opens });
  limitHeapOfCommand();
  let deadlineMs = 20_000;
  try {
    return await audited(context, app, () => use(app));
  } catch (thrown) {
    const explained = App.explained(thrown);
    // Without Redis there is nothing to wait for.
    if (explained instanceof SimfleetError && explained.code === "STORE_UNAVAILABLE") deadlineMs = 1_000;
    throw explained;
  } finally {
    await app.close(deadlineMs);
  }
}

/**
 * An empty store that is made by mistake, in another folder or by another user, looks as if nothing were running.
 * @throws SimfleetError USAGE
 */
function assertStore({ command }: Context, { redis, dataDir, isUsualDataDir, file }: Config): void {
  const place = join(dataDir, "redis");
  if (redis !== undefined || command === undefined || command.store === "makes" || existsSync(place)) return;
  if (!isUsualDataDir && command.store === "configured") return;
  const looked = [file ?? usualFiles].flat().join(" or ");
  const usual = isUsualDataDir ? `, the usual place of this user; no other is named in ${looked}` : "";
  throw new SimfleetError(
    "USAGE",
    `No data of simfleet was found in ${dataDir}${usual}. Nothing was done. Name the worker's data with --config, SIMFLEET_DATA_DIR or SIMFLEET_REDIS_URL, or its address with --server`,
  );
}

/**
 * Runs a local command. A command that changes something writes an audit entry first, and its exit code afterwards.
 * @throws SimfleetError AUDIT_UNAVAILABLE, and nothing is done then
 */
async function audited<T>(context: Context, app: App, act: () => Promise<T>): Promise<T> {
  const { command, actor, io } = context;
  if (command === undefined || command.isReading) return act();
  const { name, feature, target } = command;
  const log = app.service(audit);
  const id = await log.begin({
    who: actor,
    role: "",
    kind: feature?.audit ?? "other",
    action: `simfleet ${name}`,
    did: "",
    target: target?.slice(0, 200) ?? app.kernel.config.profile,
    requestId: randomUUID(),
    from: hostname(),
  });
  const finish = (exitCode: number): Promise<void> =>
    log.finish(id, { exitCode, target: context.done?.made, about: context.done?.about }).catch((thrown: unknown) => {
      io.stderr.write(`The result could not be recorded in the audit log: ${messageOf(thrown)}\n`);
    });
  try {
    const answer = await act();
    // A command that returns a number returns its exit code.
    await finish(typeof answer === "number" ? answer : 0);
    return answer;
  } catch (thrown) {
    const interrupted = io.interrupt.aborted ? 1 : 4;
    await finish(thrown instanceof SimfleetError ? thrown.exitCode : interrupted);
    throw thrown;
  }
}

/**
 * The token of a worker on the same data directory. It has all rights, so it is only sent to this machine.
 * @throws SimfleetError UNAUTHENTICATED
 */
function localToken(url: string, dataDir: string): Secret {
  const { hostname: host } = new URL(url);
  if (!isLoopback(host)) {
    throw new SimfleetError(
      "UNAUTHENTICATED",
      `A token for ${host} is required: set SIMFLEET_SERVER_TOKEN_FILE. The token of the data directory is only sent to this machine`,
    );
  }
  const read = readSecretFile(join(dataDir, "admin-token"));
  if ("secret" in read) return new Secret(read.secret);
  throw new SimfleetError("UNAUTHENTICATED", "A token for the worker is required: set SIMFLEET_SERVER_TOKEN_FILE");
}
