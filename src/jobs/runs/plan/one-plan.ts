/** The plan of a command, which ends with the process. A run that is started from it is not planned again. */
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import type { PlanStore, StoredPlan } from "./plan-store.ts";

export function onePlan(clock: Clock): PlanStore {
  let stored: StoredPlan | undefined;
  const get = (planId: string): Promise<StoredPlan> =>
    stored?.planId === planId
      ? Promise.resolve(stored)
      : Promise.reject(new SimfleetError("NOT_FOUND", `There is no plan ${planId}`));
  return {
    newPlanId: () => "p-local",
    put: (plan) => {
      stored = { ...plan, expiresAtMs: clock.wallMs() + 60 * minuteMs };
      return Promise.resolve(stored);
    },
    get,
    use: async (planId, read) => read(await get(planId)),
    remove: async (planId) => {
      await get(planId);
      stored = undefined;
    },
  };
}
