/** The words around times and durations. */
export const timesText = {
  justNow: "just now",
  ago: (time: string) => `${time} ago`,
  in: (time: string) => `in ${time}`,
  now: "now",
} as const;
