/** The operations on Credential Sets: the interface shows creation (section 4) and only names the others. */
import { answer, done, type Operation } from "../operation.ts";

const shared = { path: "v1/credentials/*", group: "Credential", needsPair: true } as const;

export const createCredential: Operation = {
  ...shared,
  name: "createCredential",
  method: "POST",
  handle: ({ options, state, ids: [id = ""], body }) =>
    answer(options.createdStatus, state.credentials.create(id, body())),
};

export const otherCredentialOperations: readonly Operation[] = [
  {
    ...shared,
    name: "listCredentials",
    method: "GET",
    path: "v1/credentials",
    handle: ({ state }) => answer(200, state.credentials.all),
  },
  {
    ...shared,
    name: "updateCredential",
    method: "PUT",
    handle: ({ state, ids: [id = ""], body }) => answer(200, state.credentials.update(id, body())),
  },
  {
    ...shared,
    name: "deleteCredential",
    method: "DELETE",
    handle: ({ state, ids: [id = ""] }) => {
      state.credentials.delete(id);
      return done;
    },
  },
];
