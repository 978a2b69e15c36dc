/**
 * The entry point `simfleet/sandbox`: the simulator of the platform, for the tests of other programs. This file declares
 * each type that it exports, so that a consumer needs no other package's types.
 */
import { startSandbox as start } from "#sandbox/server.ts";

export interface SandboxOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Number of generated SIMs; default 100. */
  readonly sims?: number;
  /** Calls allowed in each period, by API group: `{ Sim: 60 }`. */
  readonly limits?: Readonly<
    Partial<Record<"Sim" | "Subscriber" | "Credential" | "Operator" | "Group" | "Auth", number>>
  >;
  /** Length of the quota's period; default 60. */
  readonly periodSeconds?: number;
  /** Delay of every response in milliseconds, or the minimum and maximum of a random one; default 0. */
  readonly latencyMs?: number | readonly [number, number];
}

export interface Sandbox {
  /** Base address, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly authKeyId: string;
  readonly authKey: string;
  /** The SIM IDs of the fleet, in the order of the list. */
  simIds(): string[];
  /** Appends generated SIMs. @returns their SIM IDs */
  addSims(count: number): string[];
  /** Calls on these SIMs answer from now on that there is no such SIM. */
  removeSims(simIds: readonly string[]): void;
  /** Closes every connection, even with a response pending. */
  close(): Promise<void>;
}

/** Resolves once it listens on 127.0.0.1. @throws an error with the code CONFIG_INVALID if an option is not valid */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await start(options);
  const { sims } = sandbox.state;
  return {
    url: sandbox.url,
    authKeyId: sandbox.options.authKeyId,
    authKey: sandbox.options.authKey,
    simIds: () => Array.from({ length: sims.places }, (_, place) => sims.simIdAt(place)),
    addSims: (count) => sandbox.fleet.add(count),
    removeSims: (simIds) => sandbox.fleet.remove(simIds),
    close: () => sandbox.close(),
  };
}
