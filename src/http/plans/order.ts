import type { Config } from "#config/config.ts";
import { SimfleetError } from "#core/errors.ts";

/**
 * The profile that a request is about: the one it names, else the configuration's.
 * @throws SimfleetError NOT_FOUND
 */
export function profileOf(named: string | undefined, { config }: { readonly config: Config }): string {
  if (named === undefined) return config.profile;
  if (Object.hasOwn(config.profiles, named)) return named;
  const known = Object.keys(config.profiles).join(", ");
  throw new SimfleetError("NOT_FOUND", `There is no profile ${named}; known: ${known}`);
}
