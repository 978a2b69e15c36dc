/** Routes of the dashboard, in the address after the `#`: `#/runs/r-20261120-1?outcome=failed`. */

/** The titles of the views. */
export const viewTitles = {
  overview: "Overview",
  fleet: "Fleet",
  new: "New run",
  runs: "Runs",
  quota: "Quota",
  credentials: "Credentials",
  schedules: "Schedules",
  freezes: "Freezes",
  events: "Events",
  audit: "Audit",
  sims: "SIMs",
  missing: "Page not found",
} as const;

const viewNouns: Readonly<Partial<Record<string, string>>> = { runs: "Run", sims: "SIM" };

/** Those of the navigation. */
export const mainViews = [
  ...(["overview", "fleet", "sims", "new", "runs", "quota", "credentials"] as const),
  ...(["schedules", "freezes", "events", "audit"] as const),
] as const;
export type MainView = (typeof mainViews)[number];
/** `missing` is any page that does not exist. */
export type View = MainView | "missing";

export interface Route {
  readonly view: View;
  /** The object of the view, such as a run. */
  readonly id?: string;
  readonly query: Readonly<Record<string, string>>;
}

/** The route of an address; the overview if it has none. */
export function routeOf(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [first = "", second] = path.split("/", 2).map(decoded);
  const view = first === "" ? "overview" : (mainViews.find((name) => name === first) ?? "missing");
  const query = Object.fromEntries(new URLSearchParams(search));
  return second === undefined || second === "" ? { view, query } : { view, id: second, query };
}

/** The address of a route; empty query values are omitted. */
export function hrefOf(view: View, id?: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const search = new URLSearchParams(
    Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== ""),
  ).toString();
  return `#/${view}${id === undefined ? "" : `/${encodeURIComponent(id)}`}${search === "" ? "" : `?${search}`}`;
}

/** The page of a run; of a sync, a rotation or another cause, the events that it caused. */
export function hrefOfId(id: string): string {
  if (id.startsWith("r-")) return hrefOf("runs", id);
  return id.startsWith("p-") ? hrefOf("new") : hrefOf("events", undefined, { cause: id });
}

/** What the page Credentials lists; the address selects one of them. */
export type CredentialKind = "rotation" | "set" | "authKey";

export function hrefOfCredential(kind: CredentialKind, name: string): string {
  return hrefOf("credentials", undefined, { [kind]: name });
}

const pagesOfTargets: readonly (readonly [words: RegExp, hrefOf: (name: string) => string])[] = [
  [/v1\/credentials|credentials (create|update|delete)/, (name) => hrefOfCredential("set", name)],
  [/rotations|credentials/, (name) => hrefOfCredential("rotation", name)],
  [/schedules|automations/, () => hrefOf("schedules")],
  [/webhooks|deliveries/, () => hrefOf("events")],
  [/freeze/, () => hrefOf("freezes")],
  [/syncs|sims/, () => hrefOf("fleet")],
  [/authkeys/, () => hrefOf("credentials")],
];

/** The page of what an audited action was about; undefined if it has none. */
export function hrefOfTarget(action: string, target: string): string | undefined {
  if (/^[a-z]-\d/.test(target)) return hrefOfId(target);
  return pagesOfTargets.find(([words]) => words.test(action))?.[1](target);
}

/** The window title of a route. */
export function titleOf({ view, id }: Route): string {
  const what = id === undefined ? viewTitles[view] : `${viewNouns[view] ?? viewTitles[view]} ${id}`;
  return `${what} · simfleet`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
