/** The texts of the command `simfleet quota`. */

export const quotaSummary = "quotas of the platform: limit, calls left, waiting calls";

export const quotaStrings = {
  description: "list quotas: limit, calls left, reserve, time to reset, waiting calls",
  none: "No quota is known yet: the platform reports it with its first response.",
  headings: { resetsIn: "resets in", throttled: "429s" },
  ofAddress: (egress: string) => `address of ${egress}`,
  ofProfile: (profile: string) => `profile ${profile}`,
  resetsIn: (seconds: number, doubtSeconds: number) => `${seconds.toFixed(1)} s ± ${doubtSeconds.toFixed(2)}`,
} as const;
