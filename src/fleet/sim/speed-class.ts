/**
 * A speed class is a name that the platform knows (`s1.fast`). The interface does not show the allowed values, so any
 * well-formed name is accepted; a deployment may list the known ones, and a plan then warns about others.
 */
const speedClassPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function isSpeedClass(text: string): boolean {
  return speedClassPattern.test(text);
}
