/** The actions that set and remove fields of a SIM: group, tags, expiry, IMEI lock and bundles. */
import { Refusal } from "../refusals.ts";
import { done } from "../operation.ts";
import { bodyOf, isCountOf, type SimAction } from "./sim-action.ts";

const expiryActions: readonly unknown[] = ["doNothing", "deleteSession", "deactivate", "suspend", "terminate", null];

export const recordActions: readonly SimAction[] = [
  {
    name: "setSimGroup",
    method: "POST",
    path: "set_group",
    statuses: [200, 400, 404],
    act: (sim, { state, body }) => {
      const { groupId } = body();
      if (typeof groupId !== "string" || groupId === "") throw new Refusal("groupIdMissing");
      sim.set({ groupId: state.groups.record(groupId).groupId });
    },
  },
  {
    name: "unsetSimGroup",
    method: "POST",
    path: "unset_group",
    statuses: [200, 404],
    act: (sim) => sim.set({ groupId: null }),
  },
  {
    name: "putSimTags",
    method: "PUT",
    path: "tags",
    statuses: [200, 400, 404],
    act: (sim, { json }) => {
      const tags = json();
      if (!Array.isArray(tags) || !tags.every(isTag)) throw new Refusal("tagsInvalid");
      const changed = Object.fromEntries(tags.map(({ tagName, tagValue }) => [tagName, tagValue]));
      sim.set({
        tags: {
          ...sim.facts.tags,
          ...changed,
        },
      });
    },
  },
  {
    name: "deleteSimTag",
    method: "DELETE",
    path: "tags/*",
    statuses: [204, 404],
    act: (sim, { ids: [, tagName = ""] }) => {
      const { tags } = sim.facts;
      if (!Object.hasOwn(tags, tagName)) throw new Refusal("tagUnknown");
      sim.set({ tags: Object.fromEntries(Object.entries(tags).filter(([name]) => name !== tagName)) });
      return done;
    },
  },
  {
    name: "setSimExpiryTime",
    method: "POST",
    path: "set_expiry_time",
    statuses: [200, 400, 404],
    act: (sim, { body }) => {
      const { expiryTime, expiryAction = null } = body();
      if (!isCountOf(expiryTime) || !expiryActions.includes(expiryAction)) throw new Refusal("expiryInvalid");
      sim.set({
        expiryTime,
        expiryAction,
      });
    },
  },
  {
    name: "unsetSimExpiryTime",
    method: "POST",
    path: "unset_expiry_time",
    statuses: [200, 404],
    act: (sim) => {
      if (sim.facts.expiryTime === undefined) throw new Refusal("expiryMissing");
      sim.set({
        expiryTime: null,
        expiryAction: null,
      });
    },
  },
  {
    name: "setSimImeiLock",
    method: "POST",
    path: "set_imei_lock",
    statuses: [200, 400, 404],
    act: (sim, call) => {
      const { imei } = bodyOf(call);
      if (imei === undefined && !sim.facts.sessionStatus.online) throw new Refusal("imeiUnknown");
      const locked = imei ?? sim.deviceImei;
      if (typeof locked !== "string" || !/^[0-9]{15}$/.test(locked)) throw new Refusal("imeiInvalid");
      sim.set({ imeiLock: { imei: locked } });
    },
  },
  {
    name: "unsetSimImeiLock",
    method: "POST",
    path: "unset_imei_lock",
    statuses: [200, 404],
    act: (sim) => sim.set({ imeiLock: null }),
  },
  {
    name: "putBundles",
    method: "PUT",
    path: "v1/subscribers/*/bundles",
    statuses: [200, 400, 404],
    act: (sim, { json }) => {
      const bundles = json();
      if (!Array.isArray(bundles) || !bundles.every(isName) || new Set(bundles).size < bundles.length) {
        throw new Refusal("bundlesInvalid");
      }
      sim.set({ bundles });
      return {
        status: 200,
        text: sim.state.sims.subscriberTextAt(sim.place),
      };
    },
  },
];

function isTag(tag: unknown): tag is { tagName: string; tagValue: string } {
  if (typeof tag !== "object" || tag === null || !("tagName" in tag) || !("tagValue" in tag)) return false;
  return isName(tag.tagName) && typeof tag.tagValue === "string";
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
