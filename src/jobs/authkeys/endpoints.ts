/** What answers the routes of AuthKeys. */
import { creating, type Endpoint, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import * as routes from "./contract.ts";
import type { AuthKeyService } from "./service.ts";

export function authKeyEndpoints({
  authKeys,
  profileOf,
}: {
  readonly authKeys: AuthKeyService;
  /** @throws SimfleetError NOT_FOUND */
  readonly profileOf: (named: string | undefined) => string;
}): readonly Endpoint[] {
  return [
    endpoint(routes.listAuthKeys, async ({ query }) => {
      const profile = profileOf(query.profile);
      const keys = await authKeys.list(profile);
      return { authKeys: keys, nextCursor: null, rotation: (await authKeys.report(profile)) ?? null };
    }),
    endpoint(routes.showAuthKeyRotation, async ({ query }) => {
      const profile = profileOf(query.profile);
      const report = await authKeys.report(profile);
      if (report === undefined) throw new SimfleetError("NOT_FOUND", `The AuthKey of ${profile} has not been rotated`);
      return report;
    }),
    endpoint(routes.planAuthKeyRotation, ({ query }) => authKeys.plan(profileOf(query.profile), query.replace)),
    creating(routes.rotateAuthKey, ({ query, body, by }) => {
      const profile = profileOf(query.profile);
      return {
        newId: () => profile,
        create: async () => {
          await authKeys.plan(profile, body?.replace); // throws if something prevents the rotation
          return authKeys.rotate(profile, { by, replaceId: body?.replace }); // one in progress continues
        },
        pathOf: () => "/authkeys",
      };
    }),
  ];
}
