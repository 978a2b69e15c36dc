/** Requests about runs, as an operator sends them to a harness. */
import { expect } from "vitest";
import type { RowReport, RunReport } from "#jobs/runs/contract.ts";
import { until } from "../../support/until.ts";
import type { ControlHarness } from "./control-harness.ts";

export const csv = { "content-type": "text/csv" };
export const json = { "content-type": "application/json" };

export class RunRequests {
  readonly #harness: ControlHarness;

  constructor(harness: ControlHarness) {
    this.#harness = harness;
  }

  async send(path: string, init: RequestInit = {}, as = "operator"): Promise<{ status: number; body: unknown }> {
    const answer = await this.#harness.ask(path, { as, ...init });
    const text = await answer.text();
    return {
      status: answer.status,
      body: answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text,
    };
  }

  /** Sends a request that must succeed. */
  async ask<T>(path: string, init: RequestInit = {}, as = "operator"): Promise<T> {
    const { status, body } = await this.send(path, init, as);
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    return body as T;
  }

  /** Starts a run from a file. @param query of `/v1/runs` */
  start(query: string, file: string): Promise<RunReport> {
    return this.ask(`/v1/runs?${query}`, { method: "POST", body: file, headers: csv });
  }

  async ended(runId: string): Promise<RunReport> {
    await until("the run has ended", async () => (await this.#show(runId)).finishedAt !== null);
    return this.#show(runId);
  }

  #show(runId: string): Promise<RunReport> {
    return this.ask(`/v1/runs/${runId}`);
  }

  async rowsOf(runId: string): Promise<readonly RowReport[]> {
    return (await this.ask<{ rows: RowReport[] }>(`/v1/runs/${runId}/rows`)).rows;
  }

  /** Gives SIMs these fields, and reads the fleet. */
  async become(fields: Readonly<Record<string, unknown>>, places: readonly number[]): Promise<void> {
    for (const place of places) this.#harness.sandbox.fleet.edit(this.#harness.simId(place), fields);
    await this.ask("/v1/syncs?restart=true", { method: "POST" });
    await until(
      "the sync has ended",
      async () => (await this.ask<{ state: string }>("/v1/syncs/default")).state === "finished",
    );
  }
}
