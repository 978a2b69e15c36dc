/** The features of a process, opened in the order of their needs on one kernel, and closed in the reverse order. */
import { dirname } from "node:path";
import type { Config } from "#config/config.ts";
import { sectionOf } from "#config/feature-section.ts";
import type { Endpoint, Route } from "#contract/route.ts";
import { messageOf } from "#core/errors.ts";
import type { Working } from "#engine/queue/job-result.ts";
import type { Sweep } from "#engine/sweep.ts";
import { inWordsOfRedis } from "#redis/node.ts";
import type { Reading } from "#telemetry/metrics.ts";
import type { AnyAppFeature, AppFeature, MaybeLater, Opened, RouteHost } from "./feature.ts";
import { type Kernel, openKernel, type ProcessDeps } from "./kernel.ts";

export class App {
  readonly kernel: Kernel;
  readonly #features: readonly AnyAppFeature[];
  readonly #opening = new Map<AnyAppFeature, Promise<unknown>>();
  readonly #opened = new Map<AnyAppFeature, Opened<unknown>>();

  private constructor(kernel: Kernel, features: readonly AnyAppFeature[]) {
    this.kernel = kernel;
    this.#features = features;
  }

  /**
   * Opens features, and those that they need.
   * @param opens by default all features of the process
   * @throws SimfleetError STORE_UNAVAILABLE
   */
  static async open(
    config: Config,
    { opens, ...deps }: ProcessDeps & { readonly features: readonly AnyAppFeature[]; opens?: readonly AnyAppFeature[] },
  ): Promise<App> {
    const app = new App(await openKernel(config, deps), deps.features);
    try {
      for (const feature of opens ?? deps.features) await app.#open(feature);
      return app;
    } catch (thrown) {
      await app.close(5_000);
      throw thrown;
    }
  }

  #open(feature: AnyAppFeature): Promise<unknown> {
    const opening = this.#opening.get(feature) ?? this.#openNow(feature);
    this.#opening.set(feature, opening);
    // One that could not be opened is tried again.
    opening.catch(() => this.#opening.delete(feature));
    return opening;
  }

  async #openNow(feature: AnyAppFeature): Promise<unknown> {
    const services: Record<string, unknown> = {};
    for (const [name, needed] of Object.entries(feature.needs ?? {})) services[name] = await this.#open(needed);
    const opened = await feature.open(
      this.kernel,
      services as never,
      await sectionOfFeature(this.kernel.config, feature),
    );
    this.#opened.set(feature, opened);
    return opened.service;
  }

  /** Service of a feature. @throws Error if the feature was not opened */
  service<Service>(feature: AppFeature<Service>): Service {
    const opened = this.#opened.get(feature);
    if (opened === undefined) throw new Error(`the feature ${feature.name} is not open`);
    return opened.service as Service;
  }

  /** The routes of all features: the server mounts them. */
  routes(host: RouteHost): Promise<Endpoint[]> {
    return this.#all(async (opened, { audit = "other" }) =>
      ((await opened.routes?.(host)) ?? []).map((endpoint) => ({ ...endpoint, audit })),
    );
  }

  /**
   * The endpoint of a route, for a command that calls it in its own process. The last feature that was opened is asked
   * first, and features that are not open yet are opened until one of them has the route.
   */
  async endpointOf(route: Route): Promise<Endpoint> {
    for (const feature of [...[...this.#opened.keys()].toReversed(), ...this.#features]) {
      await this.#open(feature);
      const endpoints = await this.#opened.get(feature)?.routes?.({ process: "command" });
      const found = endpoints?.find((endpoint) => endpoint.route === route);
      if (found !== undefined) return found;
    }
    throw new Error(`${route.method} ${route.path} has no endpoint`);
  }

  /** Starts what a worker does for these features, by default for all. @param profiles those with credentials */
  work(profiles: readonly string[], features: readonly AnyAppFeature[] = [...this.#opened.keys()]): Promise<Working[]> {
    const host = { sweep: (sweep: Sweep) => this.#sweep(sweep) };
    return this.#all((opened, feature) => (features.includes(feature) ? opened.work?.(profiles, host) : undefined));
  }

  async #sweep(sweep: Sweep) {
    const counts: Record<string, number> = {};
    const problems: string[] = [];
    for (const [{ name }, opened] of this.#opened) {
      if (sweep.signal.aborted) break;
      try {
        const swept = await opened.sweep?.(sweep);
        Object.assign(counts, swept?.counts);
        problems.push(...(swept?.problems ?? []));
      } catch (thrown) {
        problems.push(`${name}: ${messageOf(thrown)}`);
      }
    }
    return { counts, problems };
  }

  readings(): Promise<Reading[]> {
    return this.#all((opened) => opened.readings?.());
  }

  /** Folders that features write files to. */
  folders(): Promise<string[]> {
    return this.#all(async (opened, feature) => {
      const checks = (await feature.checks?.(await sectionOfFeature(this.kernel.config, feature))) ?? [];
      const written = checks.flatMap((one) => ("path" in one && one.use === "write" ? [dirname(one.path)] : []));
      return [...written, ...((await opened.folders?.()) ?? [])];
    });
  }

  async #all<T>(
    part: (opened: Opened<unknown>, feature: AnyAppFeature) => MaybeLater<readonly T[] | void>,
  ): Promise<T[]> {
    const all = [...this.#opened].map(async ([feature, opened]) => (await part(opened, feature)) ?? []);
    return (await Promise.all(all)).flat();
  }

  /** Converts an error thrown while the app was open: a Redis error becomes a message for operators. */
  static explained(thrown: unknown): unknown {
    return inWordsOfRedis(thrown);
  }

  /** Whether Redis rejected a command as it does while a failover is in progress: waiting may help. */
  static isFailover(thrown: unknown): boolean {
    return thrown instanceof Error && /^(NOREPLICAS|READONLY|MASTERDOWN|LOADING) /.test(thrown.message);
  }

  /**
   * Closes everything in reverse order of opening.
   * @returns what failed to close, one line each
   */
  close(deadlineMs?: number): Promise<string[]> {
    return this.kernel.lifecycle.stop(deadlineMs);
  }
}

/** The section of a feature as it was read; undefined for one without. */
export async function sectionOfFeature(config: Config, { section }: AnyAppFeature): Promise<never> {
  return (section && sectionOf(config, await section())) as never;
}
