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
