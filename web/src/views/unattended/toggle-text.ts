/** The button that pauses or resumes a schedule or an automation. */
export const toggleText = {
  pause: { verb: "Pause", named: (name: string) => `Pause ${name}`, done: (name: string) => `${name} is paused.` },
  resume: {
    verb: "Resume",
    named: (name: string) => `Resume ${name}`,
    done: (name: string) => `${name} is active again.`,
  },
} as const;
