/** Where plans are kept until a run is started from them. A worker keeps them in files, a command in memory. */
import type { Rows } from "#contract/route.ts";
import type { PlanReport } from "../contract.ts";
import type { Order } from "../service.ts";
import type { Plan } from "./plan.ts";

export interface StoredPlan {
  readonly planId: string;
  /** Who created it. */
  readonly by: string;
  readonly order: Order;
  readonly from: Rows["from"];
  /** Name of the file, or the filter. */
  readonly source: string;
  readonly expiresAtMs: number;
  readonly report: PlanReport;
  /** Absent where the rows have to be planned again. */
  readonly plan?: Plan;
}

export interface PlanStore {
  newPlanId(): string;
  /** @param uploadId the space that the rows were uploaded to; they move from there into the plan */
  put(plan: Omit<StoredPlan, "expiresAtMs">, uploadId?: string): Promise<StoredPlan>;
  /** @throws SimfleetError NOT_FOUND */
  get(planId: string): Promise<StoredPlan>;
  /** Reads a plan, which stays stored meanwhile, also when it expires. @throws SimfleetError NOT_FOUND */
  use<T>(planId: string, read: (plan: StoredPlan) => Promise<T>): Promise<T>;
  /** @throws SimfleetError NOT_FOUND */
  remove(planId: string): Promise<void>;
}
