/** The signed-in user, their role, and the selected profile. */
import { computed, effect, signal } from "@preact/signals";
import { ask } from "./ask.ts";
import { type Problem, problemFrom } from "./pure/problem.ts";
import { type Role, refusalOf } from "./pure/role.ts";
import type { Me, ProfileReport } from "./pure/shapes.ts";
import { token } from "./token.ts";

interface Session {
  readonly token: string;
  readonly me: Me;
  readonly profiles: readonly ProfileReport[];
}

export const session = signal<Session | undefined>(undefined);
/** Why a saved token could not be verified yet. */
export const sessionProblem = signal<Problem | undefined>(undefined);

const profilePlace = "simfleet.profile";
const chosen = signal(sessionStorage.getItem(profilePlace) ?? "");

/** Name of the selected profile. */
export const profile = computed(() => {
  const profiles = session.value?.profiles ?? [];
  const meant = profiles.find(({ name }) => name === chosen.value) ?? profiles.find(({ isDefault }) => isDefault);
  return (meant ?? profiles[0])?.name ?? "";
});

export const profileReport = computed(() => session.value?.profiles.find(({ name }) => name === profile.value));

/** The field that identifies a SIM in the profile's API. */
export const keyColumn = computed(() => (profileReport.value?.wording === "subscribers" ? "imsi" : "simId"));

export const hasProfiles = computed(() => (session.value?.profiles.length ?? 0) > 1);

export function chooseProfile(name: string): void {
  sessionStorage.setItem(profilePlace, name);
  chosen.value = name;
}

/** Why the role does not permit it; undefined if it does. */
export function refusal(needed: Role): string | undefined {
  return refusalOf(session.value?.me.role ?? "viewer", needed);
}

/** Requests the owner of a token. @throws Problem */
export async function openSession(value: string): Promise<Session> {
  const headers = { authorization: `Bearer ${value}` };
  const me = await ask<Me>("/v1/me", { headers });
  const { profiles } = await ask<{ profiles: ProfileReport[] }>("/v1/profiles", { headers });
  return { token: value, me, profiles };
}

/** Keeps the session in sync with the token, from the first load on. */
export function followToken(): void {
  effect(() => {
    const value = token.value;
    if (value === undefined) {
      session.value = undefined;
      sessionProblem.value = undefined;
    } else if (session.peek()?.token !== value) {
      void resumeSession(value);
    }
  });
}

async function resumeSession(value: string): Promise<void> {
  for (let tries = 0; token.peek() === value && session.peek()?.token !== value; tries += 1) {
    try {
      session.value = await openSession(value);
      sessionProblem.value = undefined;
    } catch (thrown) {
      sessionProblem.value = problemFrom(thrown);
      await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, 1_000 * (tries + 1))));
    }
  }
}
