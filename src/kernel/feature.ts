/**
 * A feature as a process opens it. It opens itself on the kernel, with the services of the features that it needs; the
 * server mounts its routes, and a worker starts its work. Its commands are added in cli/feature.ts.
 */
import type { Endpoint } from "#contract/route.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import type { Sweep, SweepHost, Swept } from "#engine/sweep.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Reading } from "#telemetry/metrics.ts";
import type { Declared, Kernel } from "./kernel.ts";

export interface RouteHost {
  /** Kind of process: a worker, or a command that may leave the work to one. */
  readonly process: "worker" | "command";
}

export type MaybeLater<T> = T | Promise<T>;

/** A line of `simfleet check` on an entry of a section, or on a file or folder that it names and that is used later. */
export type Check = { readonly what: string } & (
  | { readonly detail: string }
  | { readonly path: string; readonly use: "read" | "write" | "folder" }
);

/** A feature in a process. */
export interface Opened<Service> {
  /** Service that other features, commands and routes use. */
  readonly service?: Service;
  /** Loaded when they are needed: many commands need none. */
  readonly routes?: (host: RouteHost) => MaybeLater<readonly Endpoint[]>;
  /**
   * Starts what a worker does for the feature; closing the app stops it.
   * @param profiles those with credentials
   * @returns the consumers of queues, which are watched for progress
   */
  readonly work?: (profiles: readonly string[], host: SweepHost) => MaybeLater<readonly Working[] | void>;
  /** Removes what has been kept for long enough; one worker calls it every hour. */
  readonly sweep?: (sweep: Sweep) => Promise<Swept>;
  /** Values for the metrics that are read from Redis. */
  readonly readings?: () => Promise<readonly Reading[]>;
  /** Folders that the feature writes to, besides those of `checks`; a worker removes what killed processes left. */
  readonly folders?: () => MaybeLater<readonly string[]>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- a list has features with services of any type
export type AnyAppFeature = AppFeature<any>;
export type Needs = Readonly<Record<string, AnyAppFeature>>;
/** The services of needed features, by name. */
export type Services<N extends Needs> = {
  readonly [Name in keyof N]: N[Name] extends AppFeature<infer Service> ? Service : never;
};

export interface AppFeature<Service = unknown> extends Declared {
  /** Features that are opened before it, by the name under which `open` gets their services. */
  readonly needs?: Needs;
  /** Entries and files of its section, for `simfleet check`; a worker tidies up the folders of files that it writes. */
  readonly checks?: (section: never) => MaybeLater<readonly Check[]>;
  /** @param section its section, as it was read */
  readonly open: (kernel: Kernel, needs: never, section: never) => MaybeLater<Opened<Service>>;
}

/** Logs what an operator should know about a kind of work. */
export function logIncidents(
  logger: Logger,
  about: { readonly job: string; readonly profile?: string },
): (incident: Incident) => void {
  return ({ message, runId }) => logger.error(runId === undefined ? about : { ...about, runId }, message);
}
