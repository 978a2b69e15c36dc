/** A condition of a filter, with known fields and values. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "../../parts/form/button.tsx";
import { Form, Select, TextField } from "../../parts/form/field.tsx";
import type { SimField } from "../../pure/shapes.ts";
import { type Operator, conditionFrom, narrowed, operators } from "../../pure/sims/filter.ts";

interface ConditionProps {
  readonly where: string;
  readonly fields: readonly SimField[];
  readonly onWhere: (where: string) => void;
  /** The filter with the condition that is being written; undefined while it is not complete. */
  readonly onDraft: (where: string | undefined) => void;
}

const emptyDraft: { field: string; operator: Operator; value: string } = { field: "", operator: "=", value: "" };

export function ConditionForm({ where, fields, onWhere, onDraft }: ConditionProps): JSX.Element {
  const [draft, setDraft] = useState(emptyDraft);
  const added = conditionFrom(draft);
  const whole = added && narrowed(where, added);
  useEffect(() => onDraft(whole), [whole]);
  return (
    <Form
      class="form panel"
      label="Add a condition"
      onSubmit={() => {
        if (whole === undefined) return;
        setDraft(emptyDraft);
        onWhere(whole);
      }}
    >
      <TextField
        label="Field"
        value={draft.field}
        suggestions={fields.map(({ name }) => name)}
        onValue={(field) => setDraft({ ...draft, field })}
      />
      <Select
        label="Operator"
        value={draft.operator}
        options={operators}
        onValue={(operator) => setDraft({ ...draft, operator })}
      />
      {!draft.operator.includes("exists") && (
        <TextField
          label={draft.operator === "in" ? "Values, separated by commas" : "Value"}
          value={draft.value}
          suggestions={fields.find(({ name }) => name === draft.field.trim())?.values ?? []}
          onValue={(value) => setDraft({ ...draft, value })}
        />
      )}
      <Button type="submit" refusal={whole === undefined ? "Enter a field and a value first." : undefined}>
        Add
      </Button>
    </Form>
  );
}
