/** The options of a run; the same as those of `simfleet apply`. */
import type { JSX } from "preact";
import { TextField, Tick } from "../../parts/field.tsx";
import type { PlanForm } from "../../pure/runs/plan-options.ts";

interface OptionsProps {
  readonly form: PlanForm;
  readonly faults: Partial<Record<keyof PlanForm, string>>;
  readonly onForm: (form: PlanForm) => void;
}

export function RunOptions({ form, faults, onForm }: OptionsProps): JSX.Element {
  const field = (name: "name" | "maxFailures" | "canary" | "rate"): Pick<TextProps, "value" | "onValue" | "fault"> => ({
    value: form[name],
    onValue: (value) => onForm({ ...form, [name]: value }),
    fault: faults[name],
  });
  return (
    <fieldset class="form">
      <legend class="only-heard">Options</legend>
      <div class="form-row">
        <TextField label="Name" {...field("name")} hint="Shown in lists" />
        <TextField label="Canary" {...field("canary")} hint="Rows to try first; the rest follow only if all succeed" />
        <TextField
          label="Max failures"
          {...field("maxFailures")}
          hint="Abort if more rows than this fail, such as 50 or 5%"
        />
        <TextField label="Rate" {...field("rate")} hint="Maximum calls per minute, below the quota" />
      </div>
      <div class="form-row">
        <Tick
          label="Skip invalid rows"
          hint="Otherwise, one invalid row blocks the run"
          isOn={form.partial}
          onChange={(partial) => onForm({ ...form, partial })}
        />
        <Tick
          label="Skip unchanged SIMs"
          hint="Skip SIMs that already have the requested values in the inventory"
          isOn={form.skipUnchanged}
          onChange={(skipUnchanged) => onForm({ ...form, skipUnchanged })}
        />
      </div>
    </fieldset>
  );
}

type TextProps = Parameters<typeof TextField>[0];
