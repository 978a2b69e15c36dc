/**
 * The actions that reach the device of a SIM. Each call acts again: the effects in the log count what a device would
 * have noticed.
 */
import { Refusal } from "../refusals.ts";
import { answer, type Result } from "../operation.ts";
import { seededBits } from "../seeded.ts";
import { bodyOf, isCountOf, type SimAction } from "./sim-action.ts";

/** Longest SMS in characters, by `encodingType`: 7-bit characters and UCS-2. */
const longestMessage: Readonly<Record<number, number>> = { 1: 160, 2: 70 };

/** After this time the device has answered the SMS that asks for its local information. */
const localInfoDelayMs = 5_000;

const accepted: Result = { status: 202, text: "" };

export const deviceActions: readonly SimAction[] = [
  {
    name: "deleteSimSession",
    method: "POST",
    path: "delete_session",
    statuses: [200, 400, 404],
    act: (sim) => {
      if (!sim.facts.sessionStatus.online) throw new Refusal("simOffline");
      sim.endSession();
      const { text } = sim;
      sim.beginSession();
      return {
        status: 200,
        text,
      };
    },
  },
  {
    name: "sendSimSms",
    method: "POST",
    path: "send_sms",
    statuses: [202, 400, 404],
    act: (_, { body }) => {
      const { payload, encodingType } = body();
      const most = longestMessage[Number(encodingType)] ?? 0;
      const isMessage = typeof encodingType === "number" && typeof payload === "string" && payload !== "";
      if (!isMessage || payload.length > most) throw new Refusal("messageInvalid");
      return accepted;
    },
  },
  {
    name: "reportSimLocalInfo",
    method: "POST",
    path: "report_local_info",
    statuses: [202, 400, 404],
    act: (sim) => {
      const { sims } = sim.state;
      const cell = {
        mcc: "440",
        mnc: "10",
        cellId: String(1e5 + (seededBits(7, sim.place) % 1e5)),
      };
      sims.editLater(
        sim.place,
        {
          localInfo: {
            imei: sim.deviceImei,
            ...cell,
          },
        },
        localInfoDelayMs,
      );
      return accepted;
    },
  },
  {
    name: "sendSimDownlinkPing",
    method: "POST",
    path: "downlink/ping",
    statuses: [200, 400, 404],
    act: (sim, call) => {
      const { numberOfPingRequests = 1, timeoutSeconds = 1 } = bodyOf(call);
      if (!isCountOf(numberOfPingRequests) || !isCountOf(timeoutSeconds)) throw new Refusal("pingInvalid");
      if (!sim.facts.sessionStatus.online) return answer(200, { success: false });
      return answer(200, {
        success: true,
        rtt: 40 + (seededBits(11, sim.place) % 400),
      });
    },
  },
];
