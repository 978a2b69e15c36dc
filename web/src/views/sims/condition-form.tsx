/** A condition of a filter, with known fields and values. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { Form, Select, TextField } from "../../parts/field.tsx";
import type { SimField } from "../../pure/shapes.ts";
import { type Operator, conditionFrom, operators, textOf } from "../../pure/sims/filter.ts";

const operatorsText = {
  "=": "is",
  "!=": "is not",
  in: "is one of",
  exists: "has a value",
  "not exists": "has no value",
} as const;

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
  const whole = added === undefined ? undefined : `${where === "" ? "" : `${where} and `}${textOf([added])}`;
  useEffect(() => onDraft(whole), [whole]);
  const needsValue = draft.operator !== "exists" && draft.operator !== "not exists";
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
        options={operators.map((value) => ({ value, text: operatorsText[value] }))}
        onValue={(operator) => setDraft({ ...draft, operator })}
      />
      {needsValue && (
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
