/** The operations on groups, which the interface names without showing them. */
import { answer, answerPage, type Operation } from "../operation.ts";

export const groupOperations: readonly Operation[] = [
  {
    name: "listGroups",
    method: "GET",
    path: "v1/groups",
    group: "Group",
    needsPair: true,
    handle: (call) => {
      const groups = call.state.groups.all;
      const placeAfter = (from: number, items: number): number => Math.min(from + items, groups.length);
      return answerPage(call, { path: "/v1/groups", places: groups.length, placeAfter }, (place) =>
        JSON.stringify(groups[place]),
      );
    },
  },
  {
    name: "getGroup",
    method: "GET",
    path: "v1/groups/*",
    group: "Group",
    needsPair: true,
    handle: ({ state, ids: [groupId = ""] }) => answer(200, state.groups.record(groupId)),
  },
  {
    name: "putConfigurationParameters",
    method: "PUT",
    path: "v1/groups/*/configuration/*",
    group: "Group",
    needsPair: true,
    handle: ({ state, ids: [groupId = "", namespace = ""], json }) =>
      answer(200, state.groups.configure(groupId, namespace, json())),
  },
];
