/** What answers the routes of Credential Sets and their rotations. */
import { creating, type Endpoint, endpoint } from "#contract/route.ts";
import * as routes from "./contract.ts";
import type { CredentialService } from "./service.ts";

export function credentialEndpoints({
  credentials,
  profileOf,
  profiles,
}: {
  readonly credentials: CredentialService;
  /** @throws SimfleetError NOT_FOUND */
  readonly profileOf: (named: string | undefined) => string;
  /** All profiles. */
  readonly profiles: readonly string[];
}): readonly Endpoint[] {
  return [
    endpoint(routes.listCredentials, async ({ query, signal }) => {
      const sets = await credentials.list(profileOf(query.profile), signal);
      return { credentials: sets, nextCursor: null };
    }),
    endpoint(routes.listRotations, ({ query, signal }) => {
      const asked = query.profile === undefined ? profiles : [profileOf(query.profile)];
      return credentials.status(asked, signal);
    }),
    endpoint(routes.showRotation, ({ params }) => credentials.report(params.name)),
    // A rotation in progress continues.
    creating(routes.rotateCredentials, ({ params: { name }, by, signal }) => ({
      newId: () => name,
      create: () => credentials.rotate(name, { by, signal }),
      pathOf: () => `/rotations/${name}`,
    })),
    creating(routes.confirmRotation, ({ params: { name }, by }) => ({
      newId: () => name,
      create: () => credentials.confirm(name, by),
      pathOf: () => `/rotations/${name}`,
    })),
  ];
}
