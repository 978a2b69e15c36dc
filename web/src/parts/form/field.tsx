/** Form fields: a label, a hint, and the validation error, all associated with the input. */
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

interface Option<Value extends string> {
  readonly value: Value;
  readonly text: string;
}

interface FieldProps<Value extends string = string> {
  readonly label: string;
  readonly value: Value;
  readonly onValue: (value: Value) => void;
  readonly hint?: string | undefined;
  readonly fault?: string | undefined;
  readonly isRequired?: boolean;
}

interface TextProps extends FieldProps {
  readonly type?: "text" | "password" | "datetime-local" | "date";
  readonly placeholder?: string;
  /** Without a label that is shown. */
  readonly isCompact?: boolean;
  /** Suggested values; others can be typed. */
  readonly suggestions?: readonly string[];
  readonly autocomplete?: string;
}

export function TextField(props: TextProps): JSX.Element {
  const { value, onValue, type = "text", placeholder, suggestions = [], autocomplete = "off" } = props;
  const id = useId();
  // Only a text input can have suggestions; the types of an input's attributes know that.
  const list = suggestions.length > 0 ? { list: `${id}-list` } : {};
  const kind = type === "text" ? { type, ...list } : type === "password" ? { type } : { type };
  return (
    <Field id={id} {...props}>
      <input
        {...{ value, placeholder, autocomplete }}
        {...kind}
        {...described(id, props)}
        class="input"
        spellcheck={false}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggestions.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </Field>
  );
}

interface SelectProps<Value extends string> extends FieldProps<Value> {
  readonly options: readonly Option<Value>[];
  /** Without a label that is shown. */
  readonly isCompact?: boolean;
}

export function Select<Value extends string>(props: SelectProps<Value>): JSX.Element {
  const { value, options, onValue } = props;
  const id = useId();
  return (
    <Field id={id} {...props}>
      <select {...described(id, props)} class="input" onChange={(event) => onValue(event.currentTarget.value as Value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface FrameProps extends Pick<FieldProps, "label" | "hint" | "fault"> {
  readonly id: string;
  readonly isCompact?: boolean;
  readonly children: ComponentChildren;
}

function Field({ id, label, hint, fault, isCompact = false, children }: FrameProps): JSX.Element {
  return (
    <div class={isCompact ? "field is-compact" : "field"}>
      <label for={id} class={isCompact ? "only-heard" : undefined}>
        {label}
      </label>
      {children}
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
    </div>
  );
}

/** The attributes that associate an input with its label, its hint, and what is wrong with it. */
function described(id: string, { hint, fault, isRequired = false }: Pick<FieldProps, "hint" | "fault" | "isRequired">) {
  const notes = [hint === undefined ? "" : `${id}-hint`, fault === undefined ? "" : `${id}-fault`].filter(Boolean);
  return {
    id,
    "aria-required": isRequired || undefined,
    "aria-invalid": fault !== undefined || undefined,
    "aria-describedby": notes.length > 0 ? notes.join(" ") : undefined,
  };
}

interface FormProps {
  readonly class: string;
  readonly label?: string;
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
}

/** A form whose submission is handled here, and loads no page. */
export function Form({ class: kind, label, onSubmit, children }: FormProps): JSX.Element {
  return (
    <form
      class={kind}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
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

interface TicksProps {
  readonly legend: string;
  readonly class: string;
  readonly options: readonly Option<string>[];
  readonly chosen: readonly string[];
  /** The values in the order of the options. */
  readonly onChosen: (chosen: string[]) => void;
}

/** Any number of a few options. */
export function Ticks({ legend, class: kind, options, chosen, onChosen }: TicksProps): JSX.Element {
  const names = options.map(({ value }) => value);
  return (
    <fieldset class={kind}>
      <legend class="only-heard">{legend}</legend>
      {options.map(({ value, text }) => (
        <Tick
          key={value}
          label={text}
          isOn={chosen.includes(value)}
          onChange={(isOn) => onChosen(names.filter((one) => (one === value ? isOn : chosen.includes(one))))}
        />
      ))}
    </fieldset>
  );
}

type ChoicesProps<Value extends string> = Pick<SelectProps<Value>, "label" | "value" | "options" | "onValue">;

/** A few mutually exclusive options, all visible. */
export function Choices<Value extends string>({ label, value, options, onValue }: ChoicesProps<Value>): JSX.Element {
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
