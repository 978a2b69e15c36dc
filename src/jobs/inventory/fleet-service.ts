/**
 * Fleet counts, current and over time. Counting scans the inventory, which takes a while if it is large; so a count is cached
 * for ten times as long as it took, and concurrent callers share it.
 */
import type { Clock } from "#core/time.ts";
import type { FleetHistory } from "./fleet-history.ts";
import type { FleetPoint, FleetReport } from "./contract.ts";
import type { SimService } from "./service.ts";

const minCachedMs = 3_000;

export class FleetService {
  readonly #sims: SimService;
  readonly #history: FleetHistory;
  readonly #clock: Clock;
  readonly #counted = new Map<string, { readonly report: Promise<FleetReport>; standsUntilMs: number }>();

  constructor(deps: { sims: SimService; history: FleetHistory; clock: Clock }) {
    this.#sims = deps.sims;
    this.#history = deps.history;
    this.#clock = deps.clock;
  }

  report(profile: string): Promise<FleetReport> {
    const known = this.#counted.get(profile);
    if (known !== undefined && this.#clock.monotonicMs() < known.standsUntilMs) return known.report;
    const begunMs = this.#clock.monotonicMs();
    const counted = { report: this.#sims.fleet(profile), standsUntilMs: Infinity };
    this.#counted.set(profile, counted);
    const stand = (): void => {
      const nowMs = this.#clock.monotonicMs();
      counted.standsUntilMs = nowMs + Math.max(minCachedMs, 10 * (nowMs - begunMs));
    };
    counted.report.then(stand, () => this.#counted.delete(profile));
    return counted.report;
  }

  /** Stores a point of the fleet's history, unless one was stored in the last five minutes. */
  async remember(profile: string): Promise<void> {
    const atMs = this.#clock.wallMs();
    const { known } = await this.#sims.facts(profile);
    if (known === 0 || !(await this.#history.isDue(profile, atMs))) return;
    const { total, bySpeedClass } = await this.report(profile);
    await this.#history.add(profile, { atMs, total, bySpeedClass });
  }

  /** Oldest first. */
  async history(profile: string, hours: number): Promise<FleetPoint[]> {
    const points = await this.#history.since(profile, this.#clock.wallMs() - hours * 3_600_000);
    return points.map(({ atMs, ...point }) => ({ at: new Date(atMs).toISOString(), ...point }));
  }
}
