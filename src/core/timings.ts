/**
 * Durations that are measured where they occur and published on channels of Node, so that the code that measures knows
 * nothing of metrics. Without a subscriber, as in commands, nothing is measured.
 */
import { channel } from "node:diagnostics_channel";

/** One duration, with the labels of its metric. */
export interface Timing {
  readonly seconds: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** From adding a job to the start of its work, excluding a requested delay; only the first start of a job. */
export const queueTime = channel("simfleet:queue-time");
/** A call's wait for a permit; a call that is postponed counts with the time until the refresh. */
export const quotaWait = channel("simfleet:quota-wait");
/** From sending a call to the headers of its response. */
export const callTime = channel("simfleet:call-time");
/** Time that the gateway adds to a call, from reading its body to sending it, including the wait for quota. */
export const gatewayWait = channel("simfleet:gateway-wait");
/** From the start of a request to this worker to the end of its response. */
export const requestTime = channel("simfleet:request-time");
/** From the start of a call through the gateway to its end. */
export const gatewayCall = channel("simfleet:gateway-call");
