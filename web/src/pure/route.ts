/** Routes of the dashboard, in the address after the `#`: `#/runs/r-20261120-1?outcome=failed`. */

/** The titles of the views. */
export const viewTitles = {
  overview: "Overview",
  sims: "SIMs",
  runs: "Runs",
  schedules: "Schedules",
  credentials: "Credentials",
  quota: "Quota",
  activity: "Activity",
  new: "New run",
  missing: "Page not found",
} as const;

const viewNouns: Readonly<Partial<Record<string, string>>> = { runs: "Run", sims: "SIM" };

/** The views of the navigation. */
export const mainViews = ["overview", "sims", "runs", "schedules", "credentials", "quota", "activity"] as const;
/** `missing` is any page that does not exist. */
export type View = (typeof mainViews)[number] | "new" | "missing";

/** The tabs of the view Activity; without one, the address leads to the first. */
export const activityTabs = { since: "Summary", events: "Events", audit: "Audit" } as const;
export type ActivityTab = keyof typeof activityTabs;

/** Where the content of former pages is. */
const moved: Readonly<Record<string, readonly [view: View, id?: string]>> = {
  fleet: ["sims"],
  freezes: ["schedules", "freezes"],
  events: ["activity", "events"],
  audit: ["activity", "audit"],
};

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
  const known = [...mainViews, "new" as const].find((name) => name === first);
  const [view, part] = moved[first] ?? [first === "" ? "overview" : (known ?? "missing")];
  const query = Object.fromEntries(new URLSearchParams(search));
  const id = part ?? second;
  return id === undefined || id === "" ? { view, query } : { view, id, query };
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
  return id.startsWith("p-") ? hrefOf("new") : hrefOf("activity", "events", { cause: id });
}

/** Lists of the page Credentials; the address selects one of them. */
export type CredentialKind = "rotation" | "set" | "authKey";

export function hrefOfCredential(kind: CredentialKind, name: string): string {
  return hrefOf("credentials", undefined, { [kind]: name });
}

const pagesOfTargets: readonly (readonly [words: RegExp, hrefOf: (name: string) => string])[] = [
  [/v1\/credentials|credentials (create|update|delete)/, (name) => hrefOfCredential("set", name)],
  [/rotations|credentials/, (name) => hrefOfCredential("rotation", name)],
  [/schedules|automations/, () => hrefOf("schedules")],
  [/webhooks|deliveries/, () => hrefOf("schedules", "webhooks")],
  [/freeze/, () => hrefOf("schedules", "freezes")],
  [/syncs|sims/, () => hrefOf("sims")],
  [/authkeys/, () => hrefOf("credentials")],
];

/** The page of what an audited action was about; undefined if it has none. */
export function hrefOfTarget(action: string, target: string): string | undefined {
  if (/^[a-z]-\d/.test(target)) return hrefOfId(target);
  return pagesOfTargets.find(([words]) => words.test(action))?.[1](target);
}

/** The window title of a route. */
export function titleOf({ view, id }: Route): string {
  const noun = viewNouns[view];
  const what = id === undefined || noun === undefined ? viewTitles[view] : `${noun} ${id}`;
  return `${what} · simfleet`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
