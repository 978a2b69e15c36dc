/**
 * The operations on Credential Sets and on groups. The interface shows the creation of a Credential Set (section 4) and
 * only names the others.
 */
import { answerItems } from "../http/paging.ts";
import { answer, type Call, done, operationsOf } from "../operation.ts";
import { Refusal } from "../refusals.ts";
import type { TagQuery } from "./groups.ts";

export const shownCredentialOperations = operationsOf("Credential", {
  createCredential: [
    "POST v1/credentials/*",
    ({ options, state, ids: [id = ""], body }) => answer(options.createdStatus, state.credentials.create(id, body())),
  ],
});

export const namedCredentialOperations = [
  ...operationsOf("Credential", {
    listCredentials: ["GET v1/credentials", ({ state }) => answer(200, state.credentials.all)],
    updateCredential: [
      "PUT v1/credentials/*",
      ({ state, ids: [id = ""], body }) => answer(200, state.credentials.update(id, body())),
    ],
    deleteCredential: [
      "DELETE v1/credentials/*",
      ({ state, ids: [id = ""] }) => {
        state.credentials.delete(id);
        return done;
      },
    ],
  }),
  ...operationsOf("Group", {
    listGroups: ["GET v1/groups", (call) => answerItems(call, call.state.groups.matching(tagQueryOf(call)))],
    getGroup: ["GET v1/groups/*", ({ state, ids: [id = ""] }) => answer(200, state.groups.record(id))],
    putConfigurationParameters: [
      "PUT v1/groups/*/configuration/*",
      ({ state, ids: [id = "", namespace = ""], json }) => answer(200, state.groups.configure(id, namespace, json())),
    ],
  }),
];

/** The tag that listed groups must have; without a name, any group matches. @throws Refusal */
function tagQueryOf({ queryText }: Call): TagQuery | undefined {
  const query = new URLSearchParams(queryText);
  const name = query.get("tag_name");
  const matchMode = query.get("tag_value_match_mode") ?? "exact";
  if (matchMode !== "exact" && matchMode !== "prefix") throw new Refusal("matchModeUnknown");
  return name === null ? undefined : { name, value: query.get("tag_value") ?? undefined, matchMode };
}
