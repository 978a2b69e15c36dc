/**
 * The token that a user signed in with. It is stored in the session storage of this tab, and in the local storage only
 * on request; it is sent as a header, and is never part of an address.
 */
import { signal } from "@preact/signals";

const place = "simfleet.token";

export const token = signal<string | undefined>(
  sessionStorage.getItem(place) ?? localStorage.getItem(place) ?? undefined,
);

/** Why the sign-in form is shown, if there is a reason. */
export const signedOutBecause = signal<string | undefined>(undefined);

export function keepToken(value: string, where: "tab" | "browser"): void {
  sessionStorage.setItem(place, value);
  if (where === "browser") localStorage.setItem(place, value);
  token.value = value;
  signedOutBecause.value = undefined;
}

export function dropToken(because?: string): void {
  sessionStorage.removeItem(place);
  localStorage.removeItem(place);
  token.value = undefined;
  signedOutBecause.value = because;
}
