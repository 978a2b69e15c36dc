/** What a SIM operation may cost: nothing that matters, money, or a state that nobody can restore. */
export const dangers = ["normal", "costly", "irreversible"] as const;
export type Danger = (typeof dangers)[number];
