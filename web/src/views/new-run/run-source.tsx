/** The SIMs of a run, those of a file that is dropped or chosen, or those that a filter selects; and its limits. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Choices, TextField } from "../../parts/form/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { fileSize, listed } from "../../pure/format.ts";
import type { PlanForm } from "../../pure/runs/plan-options.ts";
import type { RowsFrom, SourceKind } from "../../pure/runs/operation.ts";

/** Both are kept while the person changes between them. */
export interface Source {
  readonly kind: SourceKind;
  readonly file: File | undefined;
  /** The file has no values: it was made from selected SIMs. */
  readonly hasOnlyKeys: boolean;
  readonly where: string;
}

export function rowsFrom({ kind, hasOnlyKeys }: Source): RowsFrom {
  return kind === "file" && hasOnlyKeys ? "selection" : kind;
}

interface SourceProps {
  readonly source: Source;
  readonly onSource: (source: Source) => void;
  /** The columns that a file needs. */
  readonly columns: readonly string[];
  /** An example of a file. */
  readonly children: JSX.Element;
}

export function RunSource({ source, onSource, columns, children }: SourceProps): JSX.Element {
  return (
    <>
      <div class="actions">
        <Choices<SourceKind>
          label="Source of SIMs"
          value={source.kind}
          options={[
            { value: "file", text: "A CSV file" },
            { value: "filter", text: "A filter" },
          ]}
          onValue={(kind) => onSource({ ...source, kind })}
        />
        {rowsFrom(source) === "file" && children}
      </div>
      {source.kind === "file" ? (
        <FileSource
          file={source.file}
          onFile={(file) => onSource({ ...source, file, hasOnlyKeys: false })}
          columns={columns}
        />
      ) : (
        <TextField
          label="Filter"
          value={source.where}
          onValue={(where) => onSource({ ...source, where })}
          placeholder="tags.site=berlin and speedClass!=s1.slow"
          hint="Same syntax as simfleet sims list --where"
        />
      )}
    </>
  );
}

interface FileProps {
  readonly file: File | undefined;
  readonly onFile: (file: File) => void;
  readonly columns: readonly string[];
}

function FileSource({ file, onFile, columns }: FileProps): JSX.Element {
  const [isOver, setOver] = useState(false);
  const take = (files: FileList | null | undefined): void => {
    const [first] = files ?? [];
    if (first !== undefined) onFile(first);
  };
  return (
    <label
      class={`drop ${isOver ? "is-over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files);
      }}
    >
      <input
        type="file"
        accept=".csv,.tsv,.txt,text/csv"
        aria-label="CSV file"
        onChange={(event) => take(event.currentTarget.files)}
      />
      <Icon name="file" size={26} />
      {file === undefined ? (
        <>
          <b>Drop a CSV file here, or choose one</b>
          <span class="hint">
            With a header line and the {columns.length === 1 ? "column" : "columns"} {listed(columns)}
          </span>
        </>
      ) : (
        <>
          <b>{file.name}</b>
          <span class="hint">{`${fileSize(file.size)} · drop or choose another to replace it`}</span>
        </>
      )}
    </label>
  );
}

interface OptionsProps {
  readonly form: PlanForm;
  readonly faults: Partial<Record<keyof PlanForm, string>>;
  readonly onForm: (form: PlanForm) => void;
}

export function RunOptions({ form, faults, onForm }: OptionsProps): JSX.Element {
  const field = (name: "waves" | "soak" | "gate" | "maxFailures" | "rate"): TextProps => ({
    value: form[name],
    onValue: (value) => onForm({ ...form, [name]: value }),
    fault: faults[name],
  });
  return (
    <details>
      <summary>Waves, limits and rate</summary>
      <div class="form-row">
        <TextField label="Waves" {...field("waves")} hint="SIMs to try first, such as 20,5%,100%" />
        <TextField label="Soak" {...field("soak")} hint="Time after each wave, such as 10m" />
        <TextField label="Gate" {...field("gate")} hint="For the next wave: sessionStatus.online=true >= 95%" />
        <TextField label="Max failures" {...field("maxFailures")} hint="Abort beyond this, such as 50 or 5%" />
        <TextField label="Rate" {...field("rate")} hint="Maximum calls per minute, below the quota" />
      </div>
    </details>
  );
}

type TextProps = Pick<Parameters<typeof TextField>[0], "value" | "onValue" | "fault">;
