/** The options of a run; the same as those of `simfleet apply`. */
import type { JSX } from "preact";
import { TextField, Tick } from "../../parts/field.tsx";
import type { PlanForm } from "../../pure/runs/plan-options.ts";
import { newRunText as text } from "../../strings/new-run.ts";

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
      <legend class="only-heard">{text.options}</legend>
      <div class="form-row">
        <TextField label={text.name} {...field("name")} hint={text.nameHint} />
        <TextField label={text.canary} {...field("canary")} hint={text.canaryHint} />
        <TextField label={text.maxFailures} {...field("maxFailures")} hint={text.maxFailuresHint} />
        <TextField label={text.rate} {...field("rate")} hint={text.rateHint} />
      </div>
      <div class="form-row">
        <Tick
          label={text.partial}
          hint={text.partialHint}
          isOn={form.partial}
          onChange={(partial) => onForm({ ...form, partial })}
        />
        <Tick
          label={text.skipUnchanged}
          hint={text.skipUnchangedHint}
          isOn={form.skipUnchanged}
          onChange={(skipUnchanged) => onForm({ ...form, skipUnchanged })}
        />
      </div>
    </fieldset>
  );
}

type TextProps = Parameters<typeof TextField>[0];
