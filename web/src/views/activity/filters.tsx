/** The filters of the event feed and of the audit log: kinds, a user, and a day. */
import type { ComponentChildren, JSX } from "preact";
import { TextField, Ticks } from "../../parts/form/field.tsx";

export interface Filter {
  readonly kinds: readonly string[];
  /** `token:anna`; empty for everyone. */
  readonly by: string;
  /** A local day, `2026-11-22`; empty for any. */
  readonly day: string;
}

interface FiltersProps extends Filter {
  /** Titles by kind. */
  readonly known: Readonly<Record<string, string>>;
  /** Suggested persons. */
  readonly people: readonly string[];
  readonly onChange: (change: Partial<Filter>) => void;
  readonly children?: ComponentChildren;
}

export function Filters({ kinds, by, day, known, people, onChange, children }: FiltersProps): JSX.Element {
  return (
    <section class="panel form" aria-label="Filters">
      <Ticks
        legend="Kinds"
        class="kinds"
        options={Object.entries(known).map(([value, text]) => ({ value, text }))}
        chosen={kinds}
        onChosen={(chosen) => onChange({ kinds: chosen })}
      />
      <div class="actions">
        <TextField
          label="Who"
          value={by}
          placeholder="Everyone"
          suggestions={[...new Set(people)].toSorted()}
          onValue={(value) => onChange({ by: value.trim() })}
        />
        <TextField type="date" label="Day" value={day} onValue={(value) => onChange({ day: value })} />
        {children}
      </div>
    </section>
  );
}
