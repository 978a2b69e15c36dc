/** The texts of the commands of freezes. */
import { counted } from "#cli/format.ts";

export const freezeSummary = "freeze all changes on the platform";

/** The commands `simfleet freeze …`. */
export const freezeStrings = {
  on: "freeze all changes; calls in flight are completed",
  reason: "reason, shown with the freeze",
  until: "time at which the freeze ends, such as 2026-12-27T09:00:00+09:00",
  untilFault: "It must be a time such as 2026-12-27T09:00:00+09:00.",
  off: "end the freeze; freezes in the configuration still apply",
  status: "show whether changes are frozen, and why",
  notFrozen: (profile: string) => `${profile}: not frozen`,
  frozen: (profile: string, reason: string, end: string) => `${profile}: frozen: ${reason} (${end})`,
  endsAt: (at: string) => `until ${at}`,
  endWith: "end it with simfleet freeze off",
  store: (store: string) => `data: ${store}`,
  reached: (profile: string, workers: number) =>
    workers === 0
      ? `${profile}: no worker is running; one that starts is frozen`
      : `${profile}: ${counted(workers, "worker")} reached`,
  configured: ({ name, profile, from, to }: { name: string; profile: string | null; from: string; to: string }) =>
    `${name}: freezes ${profile ?? "every profile"} from ${from} to ${to}`,
} as const;
