/** The operations on groups, which the interface names without showing them. */
import { Refusal } from "../refusals.ts";
import { answer, answerPage, type Call, type Operation } from "../operation.ts";
import type { TagQuery } from "./groups.ts";

export const groupOperations: readonly Operation[] = [
  {
    name: "listGroups",
    method: "GET",
    path: "v1/groups",
    group: "Group",
    needsPair: true,
    handle: (call) => {
      const query = tagQueryOf(call);
      const groups = query === undefined ? call.state.groups.all : call.state.groups.withTag(query);
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

/** The tag that listed groups must have; without a name, any group matches. @throws Refusal */
function tagQueryOf({ queryText }: Call): TagQuery | undefined {
  const query = new URLSearchParams(queryText);
  const name = query.get("tag_name");
  const matchMode = query.get("tag_value_match_mode") ?? "exact";
  if (matchMode !== "exact" && matchMode !== "prefix") throw new Refusal("matchModeUnknown");
  return name === null ? undefined : { name, value: query.get("tag_value") ?? undefined, matchMode };
}
