/** Form fields: a label, a hint, and the validation error, all associated with the input. */
import type { JSX } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly hint?: string | undefined;
  readonly fault?: string | undefined;
  readonly isRequired?: boolean;
}

interface TextProps extends FieldProps {
  readonly type?: "text" | "password" | "datetime-local" | "date";
  readonly placeholder?: string;
  /** Suggested values; others can be typed. */
  readonly suggestions?: readonly string[];
  readonly autocomplete?: string;
}

export function TextField(props: TextProps): JSX.Element {
  const {
    label,
    value,
    onValue,
    hint,
    fault,
    type = "text",
    placeholder,
    suggestions = [],
    autocomplete = "off",
    isRequired = false,
  } = props;
  const id = useId();
  // Attributes depend on each other: only a text input can have suggestions.
  const kind =
    type === "password"
      ? ({ type } as const)
      : type === "datetime-local" || type === "date"
        ? ({ type } as const)
        : suggestions.length > 0
          ? ({ type, list: `${id}-list` } as const)
          : ({ type } as const);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...{ id, value, placeholder, autocomplete }}
        {...kind}
        class="input"
        spellcheck={false}
        aria-required={isRequired || undefined}
        aria-invalid={fault !== undefined || undefined}
        aria-describedby={describedBy(id, props)}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggestions.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
      <Notes id={id} fault={fault} hint={hint} />
    </div>
  );
}

function describedBy(id: string, { hint, fault }: Pick<FieldProps, "hint" | "fault">): string | undefined {
  const ids = [hint === undefined ? "" : `${id}-hint`, fault === undefined ? "" : `${id}-fault`].filter(Boolean);
  return ids.length > 0 ? ids.join(" ") : undefined;
}

function Notes({ id, fault, hint }: Pick<FieldProps, "hint" | "fault"> & { id: string }): JSX.Element {
  return (
    <>
      {fault !== undefined && (
        <span id={`${id}-fault`} class="fault">
          {fault}
        </span>
      )}
      {hint !== undefined && (
        <span id={`${id}-hint`} class="hint">
          {hint}
        </span>
      )}
    </>
  );
}

interface SelectFieldProps extends FieldProps {
  readonly options: readonly { readonly value: string; readonly text: string }[];
}

/** A choice in a form, with a label that is shown. */
export function SelectField(props: SelectFieldProps): JSX.Element {
  const { label, value, options, onValue, hint, fault, isRequired = false } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        aria-required={isRequired || undefined}
        aria-invalid={fault !== undefined || undefined}
        aria-describedby={describedBy(id, props)}
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
      <Notes id={id} fault={fault} hint={hint} />
    </div>
  );
}

interface TickProps {
  readonly label: string;
  readonly hint?: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

export function Tick({ label, hint, isOn, onChange }: TickProps): JSX.Element {
  const id = useId();
  return (
    <div class="tick">
      <input
        type="checkbox"
        id={id}
        checked={isOn}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <div id={`${id}-hint`} class="hint">
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly text: string }[];
  readonly onValue: (value: Value) => void;
}

/** A few mutually exclusive options, all visible. */
export function Choices<Value extends string>({ label, value, options, onValue }: ChoiceProps<Value>): JSX.Element {
  const name = useId();
  return (
    <div class="choices" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onValue(option.value)} />
          {option.text}
        </label>
      ))}
    </div>
  );
}

export function Select<Value extends string>({ label, value, options, onValue }: ChoiceProps<Value>): JSX.Element {
  const id = useId();
  return (
    <div class="field is-compact">
      <label for={id} class="only-heard">
        {label}
      </label>
      <select id={id} class="input" onChange={(event) => onValue(event.currentTarget.value as Value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
    </div>
  );
}
