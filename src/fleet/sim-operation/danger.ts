/** Danger of a SIM operation: none, money, or a state that cannot be restored. */
export const dangers = ["normal", "costly", "irreversible"] as const;
export type Danger = (typeof dangers)[number];
