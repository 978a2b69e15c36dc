/**
 * The operations on SIMs: those that the interface shows (section 4), in both variants, those that read one SIM, and
 * the actions on one, as a table: the call, and what it does. A SIM starts as ready and never becomes ready again; a
 * terminated one never changes; setting the present status succeeds and changes nothing. An action that reaches the
 * device acts again on each call: the effects count what a device would have noticed.
 */
import { z } from "zod";
import type { Wording } from "#fleet/sim/sim.ts";
import { answer, bodyJson, bodyObject, type Call, type Operation, operationsOf, type Result } from "../operation.ts";
import { answerItems, answerPage } from "../paging.ts";
import { Refusal, type RefusalName } from "../refusals.ts";
import { seededBits } from "../seeded.ts";
import type { SimFacts, SimStatus } from "./sim-records.ts";

/** Changes a SIM, or acts on its device. @returns the response; default: status 200 with the record @throws Refusal */
type Act = (sim: ActedSim, call: Call) => Result | void;

type ActionTable = Readonly<Record<string, readonly [call: string, act: Act]>>;

/** The statuses that a subscription does not have. */
const missingStatuses: Readonly<Record<string, readonly SimStatus[]>> = {
  "plan-US": ["standby"],
  "plan-KM1": ["standby", "suspended"],
};

const label = z.string().min(1);
const tags = z.array(z.object({ tagName: label, tagValue: z.string() }));
const bundles = z.array(label).refine((all) => new Set(all).size === all.length);
const imeiLock = z
  .object({
    imei: z
      .string()
      .regex(/^[0-9]{15}$/)
      .optional(),
  })
  .prefault({});
const count = z.int().min(1).default(1);
const pings = z.object({ numberOfPingRequests: count, timeoutSeconds: count }).prefault({});
const expiry = z.object({
  expiryTime: z.int().min(1),
  expiryAction: z.enum(["doNothing", "deleteSession", "deactivate", "suspend", "terminate"]).nullable().default(null),
});

/** An SMS: its encodings are 7-bit characters, and UCS-2. */
const message = z.discriminatedUnion("encodingType", [
  z.object({ encodingType: z.literal(1), payload: label.max(160) }),
  z.object({ encodingType: z.literal(2), payload: label.max(70) }),
]);

/** After this time the device has answered the SMS that asks for its local information. */
const localInfoDelayMs = 5_000;

const accepted: Result = { status: 202, text: "" };

const simTable: ActionTable = {
  activateSim: [
    "POST v1/sims/*/activate",
    (sim) => sim.become("active", ["ready", "inactive", "standby", "suspended"]),
  ],
  deactivateSim: ["POST v1/sims/*/deactivate", (sim) => sim.become("inactive", ["ready", "active"])],
  suspendSim: ["POST v1/sims/*/suspend", (sim) => sim.become("suspended", ["active", "inactive"])],
  setSimToStandby: ["POST v1/sims/*/set_to_standby", (sim) => sim.become("standby", ["ready", "active", "inactive"])],
  terminateSim: ["POST v1/sims/*/terminate", terminate],
  enableSimTermination: ["POST v1/sims/*/enable_termination", (sim) => sim.set({ terminationEnabled: true })],
  disableSimTermination: ["POST v1/sims/*/disable_termination", (sim) => sim.set({ terminationEnabled: false })],
  setSimGroup: [
    "POST v1/sims/*/set_group",
    reading(z.object({ groupId: label }), "groupIdMissing", (sim, { groupId }) =>
      sim.set({ groupId: sim.state.groups.record(groupId).groupId }),
    ),
  ],
  unsetSimGroup: ["POST v1/sims/*/unset_group", (sim) => sim.set({ groupId: null })],
  putSimTags: ["PUT v1/sims/*/tags", reading(tags, "tagsInvalid", putTags)],
  deleteSimTag: ["DELETE v1/sims/*/tags/*", deleteTag],
  setSimExpiryTime: [
    "POST v1/sims/*/set_expiry_time",
    reading(expiry, "expiryInvalid", (sim, fields) => sim.set(fields)),
  ],
  unsetSimExpiryTime: ["POST v1/sims/*/unset_expiry_time", unsetExpiry],
  setSimImeiLock: ["POST v1/sims/*/set_imei_lock", reading(imeiLock, "imeiInvalid", lockImei)],
  unsetSimImeiLock: ["POST v1/sims/*/unset_imei_lock", (sim) => sim.set({ imeiLock: null })],
  deleteSimSession: ["POST v1/sims/*/delete_session", deleteSession],
  sendSimSms: ["POST v1/sims/*/send_sms", reading(message, "messageInvalid", () => accepted)],
  reportSimLocalInfo: ["POST v1/sims/*/report_local_info", reportLocalInfo],
  sendSimDownlinkPing: ["POST v1/sims/*/downlink/ping", reading(pings, "pingInvalid", ping)],
};

const simActions: readonly Operation[] = [
  ...toOperations("Sim", simTable),
  ...toOperations("Subscriber", {
    putBundles: [
      "PUT v1/subscribers/*/bundles",
      reading(bundles, "bundlesInvalid", (sim, wanted) => {
        sim.set({ bundles: wanted });
        return { status: 200, text: sim.state.sims.textAt(sim.place, "subscribers") };
      }),
    ],
  }),
];

/** The operations of a table: each finds the SIM, rejects one that is terminated, acts, and counts the effect. */
function toOperations(group: "Sim" | "Subscriber", table: ActionTable): Operation[] {
  const wording = group === "Sim" ? "sims" : "subscribers";
  const operations = Object.entries(table).map(([name, [path, act]]) => {
    const handle = (call: Call): Result => {
      const sim = actedSim(call, listedPlace(call, wording));
      if (sim.state.sims.isTerminatedAt(sim.place)) throw new Refusal("simTerminated");
      const result = act(sim, call);
      sim.state.sims.countEffect(sim.place, name);
      return result ?? { status: 200, text: sim.state.sims.textAt(sim.place) };
    };
    return [name, [path, handle]] as const;
  });
  return operationsOf(group, Object.fromEntries(operations));
}

/** An action with a body. A schema that takes none as well says so with `prefault`. */
function reading<T>(schema: z.ZodType<T>, refusal: RefusalName, act: (sim: ActedSim, body: T) => Result | void): Act {
  const isOptional = schema.safeParse(undefined).success;
  return (sim, call) => {
    const { success, data } = schema.safeParse(isOptional && call.bodyText === "" ? undefined : bodyJson(call));
    if (!success) throw new Refusal(refusal);
    return act(sim, data);
  };
}

/** The position of the SIM that the path of a call names. @throws Refusal if it is not listed */
function listedPlace({ state: { sims }, ids: [id = ""] }: Call, wording: Wording): number {
  const place = wording === "sims" ? sims.placeOfSimId(id) : sims.placeOfImsi(id);
  if (place === undefined || !sims.isListedAt(place)) throw new Refusal("simUnknown");
  return place;
}

type ActedSim = ReturnType<typeof actedSim>;

/** A SIM that a call acts on, and the changes that several actions share. */
function actedSim({ state, options }: Call, place: number) {
  const { sims } = state;
  const nowMs = options.clock.wallMs();
  const facts = (): SimFacts => sims.factsAt(place);
  /** The IMEI of the session's device; an edit of the session may name another than that of the seed. */
  const deviceImei = (): string => facts().sessionStatus.imei ?? sims.deviceImeiAt(place);
  /** Sets fields of the record; null removes one. */
  const set = (fields: Readonly<Record<string, unknown>>): void => sims.edit(place, fields);

  const endSession = (): void => {
    const previousSession = { imei: deviceImei(), imsi: facts().imsi, endedTime: nowMs };
    set({ sessionStatus: { online: false }, previousSession });
  };

  /** Changes the status; a SIM that is not active has no session. */
  const moveTo = (status: SimStatus): void => {
    if (status !== "active" && facts().sessionStatus.online) endSession();
    const renewal = status === "standby" || status === "suspended" ? nowMs : null;
    set({ status, renewalFeeStatusSetTime: renewal });
  };

  return {
    place,
    state,
    facts,
    deviceImei,
    set,
    endSession,
    moveTo,

    /** Changes the status, if the subscription has it and the present one is among `from`. */
    become(to: SimStatus, from: readonly SimStatus[]): void {
      const { status, subscription } = facts();
      if (status === to) return;
      if (missingStatuses[subscription]?.includes(to) === true) throw new Refusal("statusNotOffered");
      if (!from.includes(status)) throw new Refusal("transitionRefused");
      moveTo(to);
    },

    /** The device connects. */
    beginSession(): void {
      const session = { imei: sims.deviceImeiAt(place), imsi: facts().imsi };
      set({ sessionStatus: { online: true, ...session, lastUpdatedAt: nowMs } });
    },
  };
}

function terminate(sim: ActedSim): void {
  if (!sim.facts().terminationEnabled) throw new Refusal("terminationProtected");
  sim.moveTo("terminated");
}

function putTags(sim: ActedSim, wanted: z.output<typeof tags>): void {
  const changed = Object.fromEntries(wanted.map(({ tagName, tagValue }) => [tagName, tagValue]));
  sim.set({ tags: { ...sim.facts().tags, ...changed } });
}

function deleteTag(sim: ActedSim, { ids: [, tagName = ""] }: Call): Result {
  const { [tagName]: _, ...others } = sim.facts().tags;
  if (!Object.hasOwn(sim.facts().tags, tagName)) throw new Refusal("tagUnknown");
  sim.set({ tags: others });
  return { status: 204, text: "" };
}

function unsetExpiry(sim: ActedSim): void {
  if (sim.facts().expiryTime === undefined) throw new Refusal("expiryMissing");
  sim.set({ expiryTime: null, expiryAction: null });
}

/** Without an IMEI, the SIM is locked to the device of its session. */
function lockImei(sim: ActedSim, { imei }: z.output<typeof imeiLock>): void {
  if (imei === undefined && !sim.facts().sessionStatus.online) throw new Refusal("imeiUnknown");
  sim.set({ imeiLock: { imei: imei ?? sim.deviceImei() } });
}

/** The response shows the SIM offline; the device connects again at once. */
function deleteSession(sim: ActedSim): Result {
  if (!sim.facts().sessionStatus.online) throw new Refusal("simOffline");
  sim.endSession();
  const text = sim.state.sims.textAt(sim.place);
  sim.beginSession();
  return { status: 200, text };
}

function reportLocalInfo(sim: ActedSim): Result {
  const cell = { mcc: "440", mnc: "10", cellId: String(1e5 + (seededBits(7, sim.place) % 1e5)) };
  sim.state.sims.editLater(sim.place, { localInfo: { imei: sim.deviceImei(), ...cell } }, localInfoDelayMs);
  return accepted;
}

function ping(sim: ActedSim): Result {
  if (!sim.facts().sessionStatus.online) return answer(200, { success: false });
  return answer(200, { success: true, rtt: 40 + (seededBits(11, sim.place) % 400) });
}

export const shownSimOperations = operationsOf("Sim", {
  listSims: ["GET v1/sims", (call) => list(call, "sims")],
  updateSimSpeedClass: ["POST v1/sims/*/update_speed_class", (call) => updateSpeedClass(call, "sims")],
  listSubscribers: ["GET v1/subscribers", (call) => list(call, "subscribers")],
  updateSubscriberSpeedClass: [
    "POST v1/subscribers/*/update_speed_class",
    (call) => updateSpeedClass(call, "subscribers"),
  ],
});

/** The operations on one SIM that the interface does not show. */
export const namedSimOperations = [
  ...simActions,
  ...operationsOf("Sim", {
    getSim: ["GET v1/sims/*", (call) => ({ status: 200, text: call.state.sims.textAt(listedPlace(call, "sims")) })],
    listSimStatusHistory: [
      "GET v1/sims/*/statuses/history",
      (call) => answerItems(call, call.state.sims.statusesAt(listedPlace(call, "sims")).toReversed()),
    ],
  }),
];

function list(call: Call, wording: Wording): Result {
  const { sims } = call.state;
  const isUser = call.holder?.userName !== undefined;
  const places = Math.min(sims.places, (isUser ? call.options.userSims : undefined) ?? Infinity);
  return answerPage(call, {
    places,
    placeAfter: (from, items) => Math.min(sims.placeAfter(from, items), places),
    show: (place) => (sims.isListedAt(place) ? sims.textAt(place, wording) : undefined),
  });
}

function updateSpeedClass(call: Call, wording: Wording): Result {
  const { sims } = call.state;
  const { speedClass } = bodyObject(call);
  const place = listedPlace(call, wording);
  if (sims.isTerminatedAt(place)) throw new Refusal("simTerminated");
  if (typeof speedClass !== "string" || speedClass === "") throw new Refusal("speedClassMissing");
  if (!sims.setSpeedClass(place, speedClass)) throw new Refusal("speedClassUnknown");
  return { status: 200, text: sims.textAt(place, wording) };
}
