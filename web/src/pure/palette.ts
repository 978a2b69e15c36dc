/** Results of the command palette for a search text, the best first. */

/** The kinds of choices, as the palette shows them. */
export const choiceKinds = {
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
} as const;

export interface Choice {
  readonly kind: keyof typeof choiceKinds;
  readonly label: string;
  /** Shown after it, such as an id, and searched too. */
  readonly hint?: string;
  readonly href?: string;
  readonly act?: () => void;
}

const maxShown = 12;

/** Choices whose label or hint has all words of the text; those whose label starts with it first. */
export function foundIn(choices: readonly Choice[], search: string): Choice[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const textOf = ({ label, hint = "" }: Choice): string => `${label} ${hint}`.toLowerCase();
  const found = choices.filter((choice) => words.every((word) => textOf(choice).includes(word)));
  const rank = ({ label }: Choice): number => (label.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return found.toSorted((a, b) => rank(a) - rank(b)).slice(0, maxShown);
}
