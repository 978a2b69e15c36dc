/** The operation of a run: its choice, what to know about it, and a field for each of its inputs. */
import type { JSX } from "preact";
import { saveFile } from "../../ask.ts";
import { Button } from "../../parts/form/button.tsx";
import { Select, TextField } from "../../parts/form/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Notice } from "../../parts/notice.tsx";
import {
  type InputTexts,
  type RowsFrom,
  cautionsOf,
  fieldsFor,
  inputFaults,
  setSpeedClass,
} from "../../pure/runs/operation.ts";
import type { OperationReport } from "../../pure/shapes.ts";
import { profileReport } from "../../session.ts";
import { listed } from "../../pure/format.ts";

interface ChoiceProps {
  readonly operations: readonly OperationReport[];
  readonly operation: OperationReport;
  readonly onOperation: (name: string) => void;
  /** A field next to it. */
  readonly children: JSX.Element;
}

export function OperationChoice({ operations, operation, onOperation, children }: ChoiceProps): JSX.Element {
  const cautions = cautionsOf(operation);
  const { summary, requires, danger } = operation;
  return (
    <>
      <div class="form-row">
        <Select
          label="Operation"
          value={operation.name}
          options={operations.map(({ name }) => ({ value: name, text: name }))}
          onValue={onOperation}
          hint={`${summary}.${requires === null ? "" : ` Only SIMs with ${requires}.`}`}
        />
        {children}
      </div>
      {cautions.length > 0 && (
        <Notice kind={danger === "normal" ? "plain" : danger === "costly" ? "warn" : "bad"}>
          {cautions.map((caution) => (
            <span key={caution}>{caution}</span>
          ))}
        </Notice>
      )}
    </>
  );
}

interface FieldsProps {
  readonly operation: OperationReport;
  readonly from: RowsFrom;
  readonly texts: InputTexts;
  readonly onTexts: (texts: InputTexts) => void;
}

export function InputFields({ operation, from, texts, onTexts }: FieldsProps): JSX.Element | null {
  const fields = fieldsFor(operation, from);
  const faults = inputFaults(operation, from, texts);
  if (fields.length === 0) return null;
  return (
    <fieldset class="form-row">
      <legend class="only-heard">Values for all rows</legend>
      {fields.map((field) => (
        <InputField
          key={field.name}
          {...{ operation, field, hasColumns: from === "file" }}
          value={texts[field.name] ?? ""}
          fault={faults[field.name]}
          onValue={(value) => onTexts({ ...texts, [field.name]: value })}
        />
      ))}
    </fieldset>
  );
}

interface FieldProps extends Pick<FieldsProps, "operation"> {
  /** Whether the rows may bring values of their own. */
  readonly hasColumns: boolean;
  readonly field: OperationReport["inputs"][number];
  readonly value: string;
  readonly fault: string | undefined;
  readonly onValue: (value: string) => void;
}

function InputField({ operation, field, hasColumns, value, fault, onValue }: FieldProps): JSX.Element {
  const { name, type, values, secret, fromInventory } = field;
  const isRequired = !hasColumns && field.required && !fromInventory;
  const shared = { label: name, value, onValue, fault, isRequired, hint: hintOf({ field, hasColumns }) };
  const fixed = values ?? (type === "boolean" ? ["true", "false"] : undefined);
  if (fixed !== undefined && type !== "list") {
    const none = hasColumns ? "from the file" : isRequired ? "choose one" : "none";
    const options = [{ value: "", text: none }, ...fixed.map((one) => ({ value: one, text: one }))];
    return <Select {...shared} options={options} />;
  }
  const suggestions =
    operation.name === setSpeedClass && name === "speedClass" ? (profileReport.value?.speedClasses ?? []) : values;
  return (
    <TextField
      {...shared}
      type={secret ? "password" : type === "time" ? "datetime-local" : "text"}
      autocomplete={secret ? "new-password" : "off"}
      {...(suggestions === undefined ? {} : { suggestions })}
    />
  );
}

function hintOf({ field, hasColumns }: Pick<FieldProps, "field" | "hasColumns">): string {
  const { type, rule, values, required, fromInventory } = field;
  const from = hasColumns
    ? "For all rows, instead of a column"
    : fromInventory
      ? "Only needed if not in the inventory"
      : required
        ? "Required"
        : "Optional";
  if (values !== undefined && type !== "list") return from;
  return `${from}: ${type === "time" ? "local time" : rule}`;
}

export function ExampleFile({ operation: { name, example, inputs } }: { operation: OperationReport }): JSX.Element {
  const secrets = inputs.filter(({ secret }) => secret).map((field) => field.name);
  return (
    <>
      <Button
        isSmall
        kind="plain"
        onPress={() => saveFile(new Blob([example.join("\n")], { type: "text/csv" }), `${name}.csv`)}
      >
        <Icon name="down" size={14} />
        Example file
      </Button>
      {secrets.length > 0 && <span class="hint">Secret inputs must be columns of the file: {listed(secrets)}</span>}
    </>
  );
}
