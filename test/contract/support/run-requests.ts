/** Requests about runs, as an operator sends them to a harness. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import type { PlanDocument, RowReport, RunReport } from "#jobs/runs/contract.ts";
import { until } from "../../support/until.ts";
import { ControlHarness, type HarnessOptions } from "./control-harness.ts";

export const csv = { "content-type": "text/csv" };
export const json = { "content-type": "application/json" };

/** A request with a document. */
export function posting(document: object): RequestInit {
  return { method: "POST", body: JSON.stringify(document), headers: json };
}

/** Sets the tag `tag` of a SIM to the input `tag`. */
export function tagOperation(tag: string, more: object = {}): object {
  return {
    summary: `Set the tag ${tag}`,
    method: "PUT",
    path: "/v1/sims/{simId}/tags",
    group: "Sim",
    input: { [tag]: { required: true } },
    body: [{ tagName: tag, tagValue: `{${tag}}` }],
    statuses: [200],
    answer: "record",
    sets: { [`tags.${tag}`]: `{${tag}}` },
    repeat: "safe",
    ...more,
  };
}

interface Worker extends Omit<HarnessOptions, "prepare"> {
  /** Besides those of soracom. */
  readonly operations?: Readonly<Record<string, object>>;
  /** Lines of the configuration. */
  readonly lines?: string;
  readonly withSeal?: boolean;
}

/** A worker of a fleet with all fields. */
export async function openWorker({ operations, lines = "", withSeal = false, sandbox, env, ...more }: Worker) {
  const harness = await ControlHarness.open({
    works: true,
    sandbox: { operations: "all", records: "soracom", sims: 30, periodSeconds: 1, limits: { Sim: 10_000 }, ...sandbox },
    env: { SIMFLEET_COVERAGE: "g", SIMFLEET_BRAND: "Svc", ...env },
    prepare: async (folder) => {
      await writeFile(join(folder, "seal-key"), Buffer.alloc(32, 7).toString("base64url"), { mode: 0o600 });
      await writeFile(join(folder, "own.yaml"), JSON.stringify({ extends: "soracom", simOperations: operations }));
      return `deployment: own.yaml\n${withSeal ? "seal: { keyFile: seal-key }\n" : ""}${lines}`;
    },
    ...more,
  });
  return { harness, requests: new RunRequests(harness) };
}

/** One for all tests of the file that opens it. */
export async function workerOfFile(options: Worker = {}) {
  const worker = await openWorker(options);
  afterAll(() => worker.harness[Symbol.asyncDispose]());
  return worker;
}

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

  /** Plans rows that are named in JSON, such as those of a retry. */
  planOf(rows: object): Promise<PlanDocument> {
    return this.ask("/v1/plans", posting(rows));
  }

  /** How many messages the SIM at this place has got. */
  messagesTo(place: number): number {
    return this.#harness.sandbox.state.effectsOn(this.#harness.simId(place))["sendSimSms"] ?? 0;
  }

  /** Starts what was planned. */
  startPlan(planId: string) {
    return this.send(`/v1/runs?planId=${planId}`, { method: "POST" });
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

  /** Starts a run from a file, and waits until it has ended. @param query of `/v1/runs` */
  async complete(query: string, file: string): Promise<RunReport> {
    return this.ended((await this.start(query, file)).runId);
  }

  /** @param query of `/v1/plans` */
  plan(query: string, file: string): Promise<PlanDocument> {
    return this.ask(`/v1/plans?${query}`, { method: "POST", body: file, headers: csv });
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
