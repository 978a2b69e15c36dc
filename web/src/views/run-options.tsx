/** What can be asked of a run beyond its rows; the same as the options of `simfleet apply`. */
import type { JSX } from "preact";
import { TextField, Tick } from "../parts/field.tsx";
import type { PlanForm } from "../pure/plan-options.ts";

interface OptionsProps {
  readonly form: PlanForm;
  readonly faults: Partial<Record<keyof PlanForm, string>>;
  readonly onForm: (form: PlanForm) => void;
}

export function RunOptions({ form, faults, onForm }: OptionsProps): JSX.Element {
  const text = (name: "name" | "maxFailures" | "canary" | "rate"): Pick<TextProps, "value" | "onValue" | "fault"> => ({
    value: form[name],
    onValue: (value) => onForm({ ...form, [name]: value }),
    fault: faults[name],
  });
  return (
    <fieldset class="form">
      <legend class="only-heard">Options</legend>
      <div class="form-row">
        <TextField label="Name" {...text("name")} hint="To find it again" />
        <TextField label="Canary" {...text("canary")} hint="Rows to try first; the rest only if all of them hold" />
        <TextField label="Most failures" {...text("maxFailures")} hint="Abort past so many rows, or 5%" />
        <TextField label="Rate" {...text("rate")} hint="Calls per minute at most, below the quota" />
      </div>
      <div class="form-row">
        <Tick
          label="Do the valid rows"
          hint="Without it, one invalid row refuses the whole file"
          isOn={form.partial}
          onChange={(partial) => onForm({ ...form, partial })}
        />
        <Tick
          label="Skip what is unchanged"
          hint="No call where the inventory shows the class already"
          isOn={form.skipUnchanged}
          onChange={(skipUnchanged) => onForm({ ...form, skipUnchanged })}
        />
      </div>
    </fieldset>
  );
}

type TextProps = Parameters<typeof TextField>[0];
