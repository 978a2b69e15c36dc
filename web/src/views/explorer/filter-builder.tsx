/** The filter of the explorer: its conditions, a form for another one with known fields and values, and its text. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { Form, Select, TextField } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { type Operator, conditionFrom, conditionsOf, operators, textOf } from "../../pure/sims/filter.ts";
import type { SimField } from "../../pure/shapes.ts";

const operatorsText = {
  "=": "is",
  "!=": "is not",
  in: "is one of",
  exists: "has a value",
  "not exists": "has no value",
} as const;

interface BuilderProps {
  readonly where: string;
  readonly fields: readonly SimField[];
  readonly onWhere: (where: string) => void;
  /** The filter with the condition that is being written; undefined while it is not complete. */
  readonly onDraft: (where: string | undefined) => void;
  /** How many SIMs the draft selects. */
  readonly draftCount: string | undefined;
}

const emptyDraft: { field: string; operator: Operator; value: string } = { field: "", operator: "=", value: "" };

export function FilterBuilder({ where, fields, onWhere, onDraft, draftCount }: BuilderProps): JSX.Element {
  const [draft, setDraft] = useState(emptyDraft);
  const conditions = conditionsOf(where);
  const added = conditionFrom(draft);
  const whole = added === undefined ? undefined : joined(where, textOf([added]));
  useEffect(() => onDraft(whole), [whole]);
  const needsValue = draft.operator !== "exists" && draft.operator !== "not exists";
  return (
    <div class="builder">
      <ul class="chips" aria-label="Conditions of the filter">
        {conditions === undefined && (
          <li class="chip">
            <code>{where}</code>
          </li>
        )}
        {conditions?.map((one, i) => (
          <li key={textOf([one])} class="chip">
            <code>{textOf([one])}</code>
            <button
              type="button"
              aria-label={`Remove the condition ${textOf([one])}`}
              onClick={() => onWhere(textOf(conditions.toSpliced(i, 1)))}
            >
              <Icon name="cross" size={12} />
            </button>
          </li>
        ))}
      </ul>
      <Form
        class="form-row"
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
        <div class="builder-add">
          <Button type="submit" refusal={whole === undefined ? "Enter a field and a value first." : undefined}>
            Add
          </Button>
          <span class="hint" role="status">
            {draftCount}
          </span>
        </div>
      </Form>
      <FilterText where={where} onWhere={onWhere} />
    </div>
  );
}

function joined(where: string, condition: string): string {
  return where === "" ? condition : `${where} and ${condition}`;
}

function FilterText({ where, onWhere }: Pick<BuilderProps, "where" | "onWhere">): JSX.Element {
  const [written, setWritten] = useState(where);
  useEffect(() => setWritten(where), [where]);
  return (
    <details class="more">
      <summary>Filter as text</summary>
      <Form class="with-button" onSubmit={() => onWhere(written.trim())}>
        <TextField
          label="Filter as text"
          value={written}
          onValue={setWritten}
          placeholder="tags.site=berlin and speedClass!=s1.slow"
        />
        <Button type="submit">Apply</Button>
      </Form>
    </details>
  );
}
