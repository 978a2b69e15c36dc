/**
 * The operations of the platform that its interface names but does not show (sections 2 and 4); a platform definition
 * describes them. This table lists what it must specify for each, with an example; the example says nothing about any
 * real platform.
 */

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** The variable parts of a path; platform definitions write these names in braces. */
export type Placeholder =
  | "operatorId"
  | "userName"
  | "authKeyId"
  | "credentialsId"
  | "groupId"
  | "namespace"
  | "simId"
  | "imsi"
  | "exportedFileId";

/** One operation as a platform definition describes it. */
export interface DeploymentOperation {
  readonly method: Method;
  /** Starts with `/v1/`; placeholders are whole segments in braces. */
  readonly path: string;
  /** The same for things that belong to a sub-user, if they have a separate path. */
  readonly userPath?: string | undefined;
  /** The success statuses. */
  readonly statuses: readonly number[];
  /** The API group whose quota a call uses (interface, section 8). */
  readonly group: string;
  /** The group of `userPath`, if it differs. */
  readonly userGroup?: string | undefined;
  /** How a quota is counted, if not by API group but by the address that a call comes from (section 8, rule 3). */
  readonly quota?: { readonly perIp: boolean } | undefined;
  /** The request field that sets a lifetime in seconds. */
  readonly ttlField?: string | undefined;
}

/** The API group of calls to a path. */
export type PathGroup = Pick<DeploymentOperation, "group" | "quota">;

/**
 * The terms of an operation: placeholders that its path must contain (`needs`) and may contain (`knows`), and keys in
 * addition to method, path, statuses and group. The call, statuses, group and further values are those of its example.
 * @param knows placeholders of its paths that a platform definition may leave out, and others that it may use; of those
 *   of a SIM it uses one
 */
function terms(
  call: string,
  statuses: readonly number[],
  group: string,
  of: { readonly knows?: readonly Placeholder[]; readonly userPath?: string; readonly ttlField?: string } = {},
) {
  const [method, path] = call.split(" ") as [Method, string];
  const { knows = [], userPath, ttlField } = of;
  const marks = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name as Placeholder);
  const methods: readonly Method[] = method === "GET" ? ["GET"] : ["POST", "PUT", "DELETE"];
  const extras: readonly ("userPath" | "userGroup" | "ttlField")[] = [
    ...(userPath === undefined ? [] : (["userPath", "userGroup"] as const)),
    ...(ttlField === undefined ? [] : (["ttlField"] as const)),
  ];
  const example: DeploymentOperation = {
    method,
    path,
    ...(userPath === undefined ? {} : { userPath }),
    statuses,
    group,
    ...(ttlField === undefined ? {} : { ttlField }),
  };
  return { methods, needs: marks.filter((name) => !knows.includes(name)), knows, extras, example };
}

const operators = "/v1/operators/{operatorId}";
const ofOperator: readonly Placeholder[] = ["operatorId"];
const ofSim: readonly Placeholder[] = ["simId", "imsi"];
const ofKeys = { knows: ofOperator, userPath: `${operators}/users/{userName}/auth_keys` };
const ofKey = { knows: ofOperator, userPath: `${ofKeys.userPath}/{authKeyId}` };
const configuration = "/v1/groups/{groupId}/configuration/{namespace}";

export const operationOptions = {
  listCredentials: terms("GET /v1/credentials", [200], "Credential"),
  updateCredential: terms("PUT /v1/credentials/{credentialsId}", [200], "Credential"),
  deleteCredential: terms("DELETE /v1/credentials/{credentialsId}", [204], "Credential"),
  listAuthKeys: terms(`GET ${operators}/auth_keys`, [200], "Operator", ofKeys),
  createAuthKey: terms(`POST ${operators}/auth_keys`, [200, 201], "Operator", ofKeys),
  revokeAuthKey: terms(`DELETE ${operators}/auth_keys/{authKeyId}`, [204], "Operator", ofKey),
  listGroups: terms("GET /v1/groups", [200], "Group", { knows: ofOperator }),
  getSim: terms("GET /v1/sims/{simId}", [200], "Sim", { knows: ofSim }),
  getSimStatusHistory: terms("GET /v1/sims/{simId}/statuses/history", [200], "Sim", { knows: ofSim }),
  putGroupConfiguration: terms(`PUT ${configuration}`, [200], "Group", { knows: ofOperator }),
  exportUsage: terms("POST /v1/stats/air/operators/{operatorId}/export", [200], "Stats", { knows: ofOperator }),
  getExportedFile: terms("GET /v1/files/exported/{exportedFileId}", [200], "Files"),
  renewToken: terms(`POST ${operators}/token`, [200], "Operator", { knows: ofOperator, ttlField: "ttlSeconds" }),
};

export type DeploymentOperationId = keyof typeof operationOptions;

export type DeploymentOperations = Readonly<Partial<Record<DeploymentOperationId, DeploymentOperation | undefined>>>;

export const deploymentOperationIds = Object.keys(operationOptions) as DeploymentOperationId[];

/**
 * Validates the template of a path.
 * @param key `userPath` may also contain the sub-user's name
 * @returns a phrase to append to the key's name; undefined if the template is valid
 */
export function templateFault(
  template: string,
  { id, key }: { id: DeploymentOperationId; key: "path" | "userPath" },
): string | undefined {
  const { needs, knows } = operationOptions[id];
  const known: string[] = [...needs, ...knows, ...(key === "userPath" ? ["userName"] : [])];
  if (!/^\/v1(\/([A-Za-z0-9_-]+|\{[^{}/]*\}))+$/.test(template)) {
    return "must start with /v1/ and have between its slashes letters, digits, - and _ or one placeholder in braces";
  }
  const marks = [...template.matchAll(/\{([^}]*)\}/g)].map(([, name = ""]) => name);
  const unknown = marks.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const may = known.length === 0 ? "takes no placeholder" : `knows ${known.map((name) => `{${name}}`).join(", ")}`;
    return `has {${unknown}}, but ${id} ${may}`;
  }
  const twin = marks.find((name, i) => marks.indexOf(name) !== i);
  if (twin !== undefined) return `has {${twin}} twice`;
  if (knows === ofSim && marks.length === 0) return "lacks {simId} or {imsi}";
  const missing = needs.filter((name) => !marks.includes(name));
  return missing.length === 0 ? undefined : `lacks ${missing.map((name) => `{${name}}`).join(" and ")}`;
}
