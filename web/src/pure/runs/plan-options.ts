/** The options of a plan or run, as form fields and as the query of a request. */
import { type InputTexts, setSpeedClass } from "./operation.ts";

export interface PlanForm {
  readonly name: string;
  readonly operation: string;
  /** Values for all rows; those of inputs that the operation does not have are kept and not sent. */
  readonly texts: InputTexts;
  readonly partial: boolean;
  /** Whether SIMs that are as requested are sent; undefined: as the server decides. */
  readonly skipUnchanged?: boolean | undefined;
  /** Rows, or a percentage: `10`, `5%`. Waves are as in `20,5%,100%`, a soak as in `10m`. */
  readonly maxFailures: string;
  readonly waves: string;
  readonly soak: string;
  readonly gate: string;
  /** Calls per minute. */
  readonly rate: string;
}

export const emptyForm: PlanForm = {
  name: "",
  operation: setSpeedClass,
  texts: {},
  partial: false,
  maxFailures: "",
  waves: "",
  soak: "",
  gate: "",
  rate: "",
};

/** Validation errors by field. */
export function faultsOf(form: PlanForm): Partial<Record<keyof PlanForm, string>> {
  const { maxFailures, waves, rate } = form;
  return {
    ...(/^\s*$|^.*100\s*%\s*$/.test(waves) ? {} : { waves: "Enter waves that end at 100%, such as 20,5%,100%." }),
    ...(isCount(rate) ? {} : { rate: "Enter a whole number of calls per minute, such as 60." }),
    ...(/^\s*(|\d+|\d+(\.\d+)?\s*%)\s*$/.test(maxFailures) ? {} : { maxFailures: "Enter rows, such as 50, or 5%." }),
  };
}

/** The options in the query of `POST /v1/plans` and `POST /v1/runs`; empty ones are omitted. */
export function queryOf(form: PlanForm, profile: string): Record<string, string> {
  const texts = { name: form.name, waves: form.waves, soak: form.soak, gate: form.gate, rate: form.rate };
  const given = Object.entries({ ...texts, maxFailures: form.maxFailures.replaceAll(/\s/g, "") })
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(given),
    ...(form.partial ? { partial: "true" } : {}),
    ...(form.skipUnchanged === undefined ? {} : { skipUnchanged: String(form.skipUnchanged) }),
    profile,
  };
}

/** The operation of a file's rows and the values for all of them, which are in the query as well. */
export function operationQuery(operation: string, set: Readonly<Record<string, string>>): Record<string, string> {
  const values = Object.entries(set).map(([name, value]) => [`set.${name}`, value] as const);
  return { operation, ...Object.fromEntries(values) };
}

function isCount(text: string): boolean {
  return text.trim() === "" || /^\s*[1-9]\d*\s*$/.test(text);
}
