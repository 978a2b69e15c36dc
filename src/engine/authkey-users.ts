/**
 * Which live process uses which AuthKey, so that no AuthKey is revoked while it is in use. The registry of workers has
 * an entry for each process and AuthKey; after a kill it stays valid for a few seconds.
 */
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";
import { openWorkerRegistry } from "./queue/worker-registry.ts";

/** Longer than that of workers: a process that stands still for some seconds continues with the AuthKey that it had. */
const livesMs = 10_000;

/** The name in the registry under which a profile's processes are, as `process authKeyId`. */
export const usersOf = (profile: string): string => `users-of-authkeys-${profile}`;

export type AuthKeyUsers = ReturnType<typeof authKeyUsers>;
export type AuthKeyUser = Readonly<Awaited<ReturnType<AuthKeyUsers["list"]>>[number]>;

export function authKeyUsers({ redis, keys }: { readonly redis: Redis; readonly keys: Keys }) {
  const registry = openWorkerRegistry({ redis, keys, livesMs });
  /** By profile and process. */
  const said = new Map<
    string,
    { readonly authKeyId: string | undefined; readonly left: Promise<() => Promise<void>> }
  >();
  return {
    /** Says which AuthKey a process uses from now on; undefined for none. */
    say: async (profile: string, worker: string, authKeyId: string | undefined): Promise<void> => {
      const before = said.get(`${profile} ${worker}`);
      if (before?.authKeyId === authKeyId) return;
      const left =
        authKeyId === undefined
          ? Promise.resolve(() => Promise.resolve())
          : registry.announce(usersOf(profile), `${worker} ${authKeyId}`);
      said.set(`${profile} ${worker}`, { authKeyId, left });
      await left;
      // Only now, so that the process has an entry all the time.
      const leave = await before?.left;
      await leave?.();
    },

    /** The live processes and the AuthKey each uses, sorted by name. */
    list: async (profile: string) => {
      const users = (await registry.workers(usersOf(profile))).toSorted();
      return users.map((user) => {
        const [worker = "", authKeyId = ""] = user.split(" ");
        return { worker, authKeyId };
      });
    },
  };
}
