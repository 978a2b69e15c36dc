/** The options of a plan or run, as form fields and as the query of a request. */

export interface PlanForm {
  readonly name: string;
  /** For a file that contains only ids, and for a filter. */
  readonly speedClass: string;
  readonly partial: boolean;
  readonly skipUnchanged: boolean;
  /** Rows, or a percentage: `10`, `5%`. */
  readonly maxFailures: string;
  /** Rows. */
  readonly canary: string;
  /** Calls per minute. */
  readonly rate: string;
}

export const emptyForm: PlanForm = {
  name: "",
  speedClass: "",
  partial: false,
  skipUnchanged: false,
  maxFailures: "",
  canary: "",
  rate: "",
};

/** Validation errors by field. */
export function faultsOf(form: PlanForm): Partial<Record<keyof PlanForm, string>> {
  const { maxFailures, canary, rate } = form;
  return {
    ...(isCount(canary) ? {} : { canary: "A whole number of rows, such as 100." }),
    ...(isCount(rate) ? {} : { rate: "A whole number of calls per minute, such as 60." }),
    ...(maxFailures.trim() === "" || /^\s*(\d+|\d+(\.\d+)?\s*%)\s*$/.test(maxFailures)
      ? {}
      : { maxFailures: "A number of rows such as 50, or a percentage such as 5%." }),
  };
}

/** The query of `POST /v1/plans` and `POST /v1/runs`; empty options are omitted. */
export function queryOf(form: PlanForm, profile: string): Record<string, string> {
  const texts = { name: form.name, speedClass: form.speedClass, canary: form.canary, rate: form.rate };
  const given = Object.entries({ ...texts, maxFailures: form.maxFailures.replaceAll(/\s/g, "") })
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(given),
    ...(form.partial ? { partial: "true" } : {}),
    ...(form.skipUnchanged ? { skipUnchanged: "true" } : {}),
    profile,
  };
}

function isCount(text: string): boolean {
  return text.trim() === "" || /^\s*[1-9]\d*\s*$/.test(text);
}
