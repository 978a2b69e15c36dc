/** Operations that must not be repeated, as a platform definition would describe them. */
import { setSpeedClass, type SimOperation } from "#fleet/sim-operation/sim-operation.ts";

/** Calls that one process has in flight for one run. */
export const lanes = 4;

const unsafe = { repeat: "unsafe", undo: undefined, danger: "normal" } as const;

export const sendSms: SimOperation = {
  ...setSpeedClass,
  ...unsafe,
  name: "send-sms",
  path: "/v1/sims/{simId}/send_sms",
  answer: "accepted",
  inputs: [
    {
      name: "payload",
      type: "text",
      isRequired: true,
    },
  ],
  body: {
    payload: "{payload}",
    encodingType: 1,
  },
  statuses: [202],
  sets: {},
};

export const terminate: SimOperation = {
  ...setSpeedClass,
  ...unsafe,
  name: "terminate",
  path: "/v1/sims/{simId}/terminate",
  inputs: [],
  body: undefined,
  sets: { status: "terminated" },
};
