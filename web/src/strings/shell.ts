/** The texts of the frame around all pages: navigation, sign-in, palette, shortcuts. */

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

/** What one object of a view is called. */
export const viewNouns: Readonly<Partial<Record<string, string>>> = { runs: "Run", sims: "SIM" };

export const themesText: Readonly<Record<"system" | "light" | "dark", string>> = {
  system: "System colors",
  light: "Light colors",
  dark: "Dark colors",
};

export const signInText = {
  title: "Sign in",
  busy: "Signing in …",
  otherToken: "Use another token",
  notAToken: "Paste the token as it was printed: one word, without spaces.",
  token: "Token",
  tokenHint: "The worker logs the path of its admin token file at startup.",
  keep: "Keep me signed in on this device",
  others: "An admin creates more tokens with:",
  othersCommand: "simfleet tokens create --name anna --role operator",
} as const;

export const shellText = {
  missing: "There is no page at this address",
  missingHint: "Check the address, or continue here:",
  product: "simfleet",
  windowTitle: (what: string) => `${what} · simfleet`,
  toContent: "Skip to content",
  menu: "Menu",
  colors: "Colors",
  views: "Views",
  profile: "Profile",
  profileNamed: (name: string) => `Profile ${name}`,
  connection: { opening: "Connecting …", live: "Live", lost: "Connection lost, trying again" },
  tryingIn: (seconds: number) => `in ${seconds} s`,
  signedInAs: (role: string) => `, ${role}`,
  version: (version: string) => `simfleet ${version}`,
  signOut: "Sign out",
  search: "Search",
  searchKeys: "Ctrl K",
  palette: "Search and commands",
  palettePlaceholder: "Page, SIM ID, IMSI, run, schedule, credential …",
  paletteHint: "↑ ↓ to choose, Enter to open, Esc to close",
  paletteEmpty: "Nothing found.",
  paletteFailed: (problem: string) => `The search is incomplete: ${problem}`,
  paletteGroups: {
    page: "Page",
    action: "Action",
    sim: "SIM",
    run: "Run",
    schedule: "Schedule",
    automation: "Automation",
    rotation: "Rotation",
    set: "Credential Set",
    authKey: "AuthKey",
    events: "Events",
  },
  findSims: (search: string) => `Search “${search}” in all SIMs`,
  newRun: "New run",
  apiReference: "API reference",
  shortcuts: "Shortcuts",
  keys: [
    ["Ctrl K", "search and commands; ⌘ K on a Mac"],
    ["?", "this list"],
    ["/", "search"],
    ["n", "new run"],
    ["g o", "overview"],
    ["g f", "fleet"],
    ["g s", "SIMs"],
    ["g r", "runs"],
    ["g q", "quota"],
    ["g c", "credentials"],
    ["g e", "events"],
    ["Esc", "close a dialog or a menu"],
  ],
  keysOn: "Single-key shortcuts",
  keysHint: "Ctrl K always works.",
} as const;
