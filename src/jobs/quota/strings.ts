/** The texts of the command `simfleet quota`. */

export const quotaSummary = "quotas of the platform: limit, calls left, waiting calls";

export const quotaStrings = {
  description: "list quotas: limit, calls left, reserve, time to reset, waiting calls",
  none: "No quota is known yet: the platform reports it with its first response.",
  headings: { resetsIn: "resets in", throttled: "429s" },
  requestOption: "print a text that requests a higher quota from the platform's support",
  request: {
    intro: "Please raise the rate limit of these API groups of our account.",
    group: (group: string, limit: number | null) =>
      `API group: ${group}${limit === null ? "" : ` (limit now: ${limit} requests per minute)`}`,
    calls: (calls: readonly string[]) => ["API calls:", ...calls.map((call) => `  ${call}`)].join("\n"),
    rate: (perMinute: number) =>
      `Estimated requests per minute: ${perMinute} (the most so far, with those that waited)`,
    useCase: "Use case: we change and read our SIMs in bulk. (Say how many SIMs, how often, and by when.)",
  },
  ofAddress: (egress: string) => `address of ${egress}`,
  ofProfile: (profile: string) => `profile ${profile}`,
  resetsIn: (seconds: number, doubtSeconds: number) => `${seconds.toFixed(1)} s ± ${doubtSeconds.toFixed(2)}`,
} as const;
