/**
 * The operations of the platform that its interface names but does not show (sections 2 and 4); a deployment describes
 * them for one installation. This table lists what a deployment must specify for each, with an example; the example
 * makes no claim about any installation.
 */

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** The variable parts of a path; deployment files write these names in braces. */
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

/** How a quota is counted, where it is not by API group (interface, section 8, rule 3). */
export interface QuotaRule {
  /** By the address that a call comes from. */
  readonly perIp: boolean;
}

/** The API group of calls to a path. */
export interface PathGroup {
  readonly group: string;
  readonly quota?: QuotaRule | undefined;
}

/** One operation as configured for an installation. */
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
  readonly quota?: QuotaRule | undefined;
  /** The request field that sets a lifetime in seconds. */
  readonly ttlField?: string | undefined;
}

interface Options {
  readonly methods: readonly Method[];
  /** Placeholders that a path must contain. */
  readonly needs: readonly Placeholder[];
  /** Placeholders that it may also contain. */
  readonly knows: readonly Placeholder[];
  /** Keys in addition to method, path, statuses and group. */
  readonly extras: readonly ("userPath" | "userGroup" | "ttlField")[];
  readonly example: DeploymentOperation;
}

/**
 * What an example says of its operation.
 * @param knows placeholders of its paths that a deployment may leave out, and others that it may use
 */
function terms(example: DeploymentOperation, ...knows: Placeholder[]): Options {
  const { method, path, userPath, ttlField } = example;
  const marks = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name as Placeholder);
  return {
    methods: method === "GET" ? ["GET"] : ["POST", "PUT", "DELETE"],
    needs: marks.filter((name) => !knows.includes(name)),
    knows,
    extras: [
      ...(userPath === undefined ? [] : (["userPath", "userGroup"] as const)),
      ...(ttlField === undefined ? [] : (["ttlField"] as const)),
    ],
    example,
  };
}

const credential = "/v1/credentials/{credentialsId}";
const rootKeys = "/v1/operators/{operatorId}/auth_keys";
const userKeys = "/v1/operators/{operatorId}/users/{userName}/auth_keys";
const history = "/v1/sims/{simId}/statuses/history";
const configuration = "/v1/groups/{groupId}/configuration/{namespace}";

export const operationOptions = {
  listCredentials: terms({ method: "GET", path: "/v1/credentials", statuses: [200], group: "Credential" }),
  updateCredential: terms({ method: "PUT", path: credential, statuses: [200], group: "Credential" }),
  deleteCredential: terms({ method: "DELETE", path: credential, statuses: [204], group: "Credential" }),
  listAuthKeys: terms(
    { method: "GET", path: rootKeys, userPath: userKeys, statuses: [200], group: "Operator" },
    "operatorId",
  ),
  createAuthKey: terms(
    { method: "POST", path: rootKeys, userPath: userKeys, statuses: [200, 201], group: "Operator" },
    "operatorId",
  ),
  revokeAuthKey: terms(
    {
      method: "DELETE",
      path: `${rootKeys}/{authKeyId}`,
      userPath: `${userKeys}/{authKeyId}`,
      statuses: [204],
      group: "Operator",
    },
    "operatorId",
  ),
  listGroups: terms({ method: "GET", path: "/v1/groups", statuses: [200], group: "Group" }, "operatorId"),
  getSim: terms({ method: "GET", path: "/v1/sims/{simId}", statuses: [200], group: "Sim" }, "simId", "imsi"),
  getSimStatusHistory: terms({ method: "GET", path: history, statuses: [200], group: "Sim" }, "simId", "imsi"),
  putGroupConfiguration: terms({ method: "PUT", path: configuration, statuses: [200], group: "Group" }, "operatorId"),
  exportUsage: terms(
    { method: "POST", path: "/v1/stats/air/operators/{operatorId}/export", statuses: [200], group: "Stats" },
    "operatorId",
  ),
  getExportedFile: terms({
    method: "GET",
    path: "/v1/files/exported/{exportedFileId}",
    statuses: [200],
    group: "Files",
  }),
  renewToken: terms(
    {
      method: "POST",
      path: "/v1/operators/{operatorId}/token",
      statuses: [200],
      group: "Operator",
      ttlField: "ttlSeconds",
    },
    "operatorId",
  ),
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
  const missing = needs.filter((name) => !marks.includes(name));
  return missing.length === 0 ? undefined : `lacks ${missing.map((name) => `{${name}}`).join(" and ")}`;
}
