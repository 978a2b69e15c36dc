/** Opens runs: their ledger, their queues, and the service. */
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { openSeal } from "#engine/seal.ts";
import { letNewSpaceGrow } from "#core/process/heap-room.ts";
import { unlessFrozen } from "#engine/freezes.ts";
import type { OpenInventory } from "#jobs/inventory/service.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { redisMemory } from "#redis/node.ts";
import { Ledger } from "./ledger/ledger.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import { runRemoval } from "./removal/removal.ts";
import { inputSeal } from "./sealed-inputs.ts";
import { RunService } from "./service.ts";
import { execute } from "./work/execute.ts";
import { runQueues } from "./work/queue.ts";
import { checkWave } from "./work/wave-check.ts";
import { RunWatch } from "./work/run-watch.ts";

export function openRuns(kernel: Kernel, inventory: OpenInventory) {
  const { config, clock, redis, keys, freezes } = kernel;
  const ledger = new Ledger(kernel);
  const removal = runRemoval({ ...kernel, ledger });
  const queues = runQueues({ ...kernel, ledger });
  const sealInputs = inputSeal(config.seal === undefined ? undefined : openSeal(config.seal));
  const service = new RunService({
    ...kernel,
    ledger,
    inventory: inventory.store,
    queues,
    sealInputs,
    memory: () => redisMemory(redis, keys),
  });

  const context = {
    ...kernel,
    ledger,
    inventory: inventory.store,
    lanes: config.limits.connections,
    watch: new RunWatch({ ledger }),
    openInputs: sealInputs.open,
  };
  const checks = { ...context, inventory, undo: (run: RunRecord) => service.undoWave(run) };
  /** Works on the queue of a profile's bucket until stopped. */
  const consume = (
    { profile, bucket }: { profile: string; bucket: string },
    onIncident: (incident: Incident) => void,
  ): Promise<Working> =>
    queues.consume(bucket, {
      onIncident,
      execute: (reference, stop) => {
        // It only reads, so a freeze does not hold it.
        if ("wave" in reference) return checkWave(reference, checks, stop);
        const onFrozen = (message: string, delayMs: number): Promise<void> =>
          ledger.recordProblem(reference.runId, { message, delayMs, isExpected: true });
        const frozen = { clock, freezes, scope: "bucket", signal: stop, onFrozen } as const;
        return unlessFrozen(profile, frozen, (signal) => {
          letNewSpaceGrow();
          return execute(reference, context, signal);
        });
      },
    });

  return { service, ledger, removal, consume, isServed: ({ bucket }: { bucket: string }) => queues.isServed(bucket) };
}
