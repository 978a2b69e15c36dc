/**
 * The operations that issue pairs and manage AuthKeys. The interface shows authentication (section 4); the paths of the
 * others are those of a public deployment. The Root user manages all AuthKeys of its operator; the sub-user manages its
 * own or none.
 */
import { Refusal } from "../refusals.ts";
import { answer, type Call, done, holderOf, type Operation } from "../operation.ts";

export const openOperations: readonly Operation[] = [
  {
    name: "auth",
    method: "POST",
    path: "v1/auth",
    group: "Auth",
    needsPair: false,
    handle: async ({ accounts, body }) => answer(200, await accounts.authenticate(body())),
  },
  {
    name: "jwks",
    method: "GET",
    path: ".well-known/jwks.json",
    group: undefined,
    needsPair: false,
    handle: ({ accounts }) => answer(200, accounts.jwks),
  },
];

const renewToken: Operation = {
  name: "renewToken",
  method: "POST",
  path: "v1/operators/*/token",
  group: "Operator",
  needsPair: true,
  whenExpired: "renewalTooLate",
  handle: async (call) => {
    checkOperator(call);
    return answer(200, { token: await call.accounts.renew(holderOf(call), call.body()) });
  },
};

/** AuthKeys of one kind of principal. */
interface KeyKind {
  readonly noun: string;
  readonly path: string;
  readonly createdStatus: number;
  /** The sub-user that a path names; none for the Root user. */
  readonly userOf: (call: Call) => string | undefined;
}

const ofRoot: KeyKind = {
  noun: "AuthKey",
  path: "v1/operators/*/auth_keys",
  createdStatus: 201,
  userOf: () => undefined,
};

const ofUser: KeyKind = {
  noun: "UserAuthKey",
  path: "v1/operators/*/users/*/auth_keys",
  createdStatus: 200,
  userOf: ({ ids }) => ids[1] ?? "",
};

export const accountOperations: readonly Operation[] = [renewToken, ...keyOperations(ofRoot), ...keyOperations(ofUser)];

function keyOperations({ noun, path, createdStatus, userOf }: KeyKind): Operation[] {
  const shared = { group: "Operator", needsPair: true } as const;
  const ownerOf = (call: Call): string | undefined => permitted(call, userOf(call));
  return [
    {
      ...shared,
      name: `list${noun}s`,
      method: "GET",
      path,
      handle: (call) => answer(200, call.accounts.authKeys.list(ownerOf(call))),
    },
    {
      ...shared,
      name: `create${noun}`,
      method: "POST",
      path,
      handle: (call) => answer(createdStatus, call.accounts.authKeys.create(ownerOf(call))),
    },
    {
      ...shared,
      name: `delete${noun}`,
      method: "DELETE",
      path: `${path}/*`,
      handle: (call) => {
        call.accounts.revoke(ownerOf(call), call.ids.at(-1) ?? "");
        return done;
      },
    },
  ];
}

/** The sub-user whose AuthKeys the call may manage, or undefined for the Root user. @throws Refusal */
function permitted(call: Call, userName: string | undefined): string | undefined {
  checkOperator(call);
  call.accounts.checkKeyAccess(holderOf(call), userName);
  return userName;
}

function checkOperator({ accounts, ids: [operatorId] }: Call): void {
  if (operatorId !== accounts.operatorId) throw new Refusal("operatorForeign");
}
