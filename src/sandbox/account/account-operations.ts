/**
 * The operations on what belongs to the account: pairs, AuthKeys, Credential Sets and groups. The interface shows
 * authentication and the creation of a Credential Set (section 4); the paths of the others are a public platform's.
 * The Root user manages all AuthKeys of its operator, and the sub-user its own.
 */
import { answer, bodyJson, bodyObject, type Call, holderOf, type Operation, operationsOf } from "../operation.ts";
import { answerItems } from "../paging.ts";
import { Refusal } from "../refusals.ts";

export const shownAccountOperations = [
  ...operationsOf("Auth", {
    auth: ["POST v1/auth", async (call) => answer(200, await call.accounts.authenticate(bodyObject(call)))],
  }),
  ...operationsOf(undefined, {
    jwks: ["GET .well-known/jwks.json", ({ accounts }) => answer(200, accounts.jwks)],
  }),
  ...operationsOf("Credential", {
    createCredential: [
      "POST v1/credentials/*",
      (call) => answer(201, call.state.credentials.create(call.ids[0] ?? "", bodyObject(call))),
    ],
  }),
];

export const namedAccountOperations = [
  ...operationsOf("Operator", { renewToken: ["POST v1/operators/*/token", renewToken] }).map(
    (operation): Operation => ({ ...operation, whenExpired: "renewalTooLate" }),
  ),
  ...keyOperations("AuthKey", "v1/operators/*/auth_keys", { createdStatus: 201, userOf: () => undefined }),
  ...keyOperations("UserAuthKey", "v1/operators/*/users/*/auth_keys", {
    createdStatus: 200,
    userOf: ({ ids }) => ids[1] ?? "",
  }),
  ...operationsOf("Credential", {
    listCredentials: ["GET v1/credentials", ({ state }) => answer(200, state.credentials.all)],
    updateCredential: [
      "PUT v1/credentials/*",
      (call) => answer(200, call.state.credentials.update(call.ids[0] ?? "", bodyObject(call))),
    ],
    deleteCredential: ["DELETE v1/credentials/*", ({ state, ids: [id = ""] }) => state.credentials.delete(id)],
  }),
  ...operationsOf("Group", {
    listGroups: ["GET v1/groups", (call) => answerItems(call, call.state.groups.all)],
    getGroup: ["GET v1/groups/*", ({ state, ids: [id = ""] }) => answer(200, state.groups.record(id))],
    putConfigurationParameters: [
      "PUT v1/groups/*/configuration/*",
      ({ state, ids: [id = "", namespace = ""], ...call }) =>
        answer(200, state.groups.configure(id, namespace, bodyJson(call))),
    ],
  }),
  ...operationsOf("Stats", { exportUsage: ["POST v1/stats/air/operators/*/export", exportUsage] }),
  ...operationsOf("Files", { getExportedFile: ["GET v1/files/exported/*", getExportedFile] }),
  ...operationsOf(undefined, {
    downloadExport: [
      "GET exported/*",
      ({ state, ids: [id = ""], queryText: query }) => ({
        status: 200,
        text: "",
        pieces: state.exports.file(id, query),
      }),
    ],
  }),
];

function exportUsage(call: Call) {
  checkOperator(call);
  const exportedFileId = call.state.exports.order(bodyObject(call));
  return answer(200, { exportedFileId, exportedFilePath: `/exported/${exportedFileId}` });
}

function getExportedFile({ state, ids: [id = ""], host }: Call) {
  const { status, path } = state.exports.stateOf(id);
  return answer(200, { exportedFileId: id, status, ...(status === "exported" && { url: `http://${host}${path}` }) });
}

async function renewToken(call: Call) {
  checkOperator(call);
  return answer(200, { token: await call.accounts.renew(holderOf(call), bodyObject(call)) });
}

/** The AuthKeys of one kind of principal; `userOf` gives the sub-user that a path names, none for the Root user. */
function keyOperations(
  noun: string,
  path: string,
  { createdStatus, userOf }: { createdStatus: number; userOf: (call: Call) => string | undefined },
): Operation[] {
  const ownerOf = (call: Call): string | undefined => {
    checkOperator(call);
    const userName = userOf(call);
    const { userName: caller } = holderOf(call);
    if (caller !== undefined && caller !== userName) throw new Refusal("keysForbidden");
    if (userName !== undefined && userName !== call.options.userName) throw new Refusal("userUnknown");
    return userName;
  };
  return operationsOf("Operator", {
    [`list${noun}s`]: [`GET ${path}`, (call) => answer(200, call.accounts.authKeys.list(ownerOf(call)))],
    [`create${noun}`]: [`POST ${path}`, (call) => answer(createdStatus, call.accounts.authKeys.create(ownerOf(call)))],
    [`delete${noun}`]: [`DELETE ${path}/*`, (call) => call.accounts.revoke(ownerOf(call), call.ids.at(-1) ?? "")],
  });
}

function checkOperator({ options, ids: [operatorId] }: Call): void {
  if (operatorId !== options.operatorId) throw new Refusal("operatorForeign");
}
