/** Who am I: answered from the credential of the request, which no endpoint sees. */
import { type Me, showMe } from "#contract/me.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { optionsOf } from "../mount.ts";

export function meRoutes(api: Api, { version }: ControlDeps): void {
  api.route({
    ...optionsOf(showMe),
    handler: ({ principal }): Me => {
      const { name = "", role = "viewer", kind = "token" } = principal ?? {};
      return { name, role, kind, version };
    },
  });
}
