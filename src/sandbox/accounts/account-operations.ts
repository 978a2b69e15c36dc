/**
 * The operations that issue pairs and manage AuthKeys. The interface shows authentication (section 4); the paths of the
 * others are those of a public deployment. The Root user manages all AuthKeys of its operator; the sub-user manages its
 * own or none.
 */
import { answer, type Call, done, holderOf, type Operation, operationsOf } from "../operation.ts";
import { Refusal } from "../refusals.ts";

export const openOperations = [
  ...operationsOf("Auth", {
    auth: ["POST v1/auth", async ({ accounts, body }) => answer(200, await accounts.authenticate(body()))],
  }),
  ...operationsOf(undefined, {
    jwks: ["GET .well-known/jwks.json", ({ accounts }) => answer(200, accounts.signer.jwks)],
  }),
];

const renewToken = operationsOf("Operator", {
  renewToken: [
    "POST v1/operators/*/token",
    async (call) => {
      checkOperator(call);
      return answer(200, { token: await call.accounts.renew(holderOf(call), call.body()) });
    },
  ],
}).map((operation): Operation => ({ ...operation, whenExpired: "renewalTooLate" }));

/** The AuthKeys of one kind of principal; `userOf` gives the sub-user that a path names, none for the Root user. */
function keyOperations(
  noun: string,
  path: string,
  { createdStatus, userOf }: { createdStatus: number; userOf: (call: Call) => string | undefined },
): Operation[] {
  const ownerOf = (call: Call): string | undefined => {
    checkOperator(call);
    const userName = userOf(call);
    call.accounts.checkKeyAccess(holderOf(call), userName);
    return userName;
  };
  return operationsOf("Operator", {
    [`list${noun}s`]: [`GET ${path}`, (call) => answer(200, call.accounts.authKeys.list(ownerOf(call)))],
    [`create${noun}`]: [`POST ${path}`, (call) => answer(createdStatus, call.accounts.authKeys.create(ownerOf(call)))],
    [`delete${noun}`]: [
      `DELETE ${path}/*`,
      (call) => {
        call.accounts.revoke(ownerOf(call), call.ids.at(-1) ?? "");
        return done;
      },
    ],
  });
}

function checkOperator({ accounts, ids: [operatorId] }: Call): void {
  if (operatorId !== accounts.operatorId) throw new Refusal("operatorForeign");
}

export const accountOperations: readonly Operation[] = [
  ...renewToken,
  ...keyOperations("AuthKey", "v1/operators/*/auth_keys", { createdStatus: 201, userOf: () => undefined }),
  ...keyOperations("UserAuthKey", "v1/operators/*/users/*/auth_keys", {
    createdStatus: 200,
    userOf: ({ ids }) => ids[1] ?? "",
  }),
];
