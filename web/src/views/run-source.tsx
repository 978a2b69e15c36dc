/** The source of a run: a file that is dropped or chosen, or a filter with the class for its SIMs. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { fileSize } from "../pure/format.ts";
import type { PlanForm } from "../pure/plan-options.ts";
import { profileReport } from "../session.ts";

interface FormPart {
  readonly form: PlanForm;
  readonly onForm: (form: PlanForm) => void;
}

export function FileSource(props: FormPart & { file: File | undefined; onFile: (file: File) => void }): JSX.Element {
  const { file, onFile, form, onForm } = props;
  const [isOver, setOver] = useState(false);
  const take = (files: FileList | null | undefined): void => {
    const [first] = files ?? [];
    if (first !== undefined) onFile(first);
  };
  return (
    <>
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
              A header line, a column {profileReport.value?.wording === "subscribers" ? "imsi" : "simId"} and a column
              speedClass
            </span>
          </>
        ) : (
          <>
            <b>{file.name}</b>
            <span class="hint">{fileSize(file.size)} · drop or choose another to replace it</span>
          </>
        )}
      </label>
      <SpeedClass {...{ form, onForm }} hint="For a file of IDs without a speedClass column" />
    </>
  );
}

export function FilterSource(props: FormPart & { where: string; onWhere: (where: string) => void }): JSX.Element {
  const { where, onWhere, form, onForm } = props;
  return (
    <div class="form-row">
      <TextField
        label="Filter"
        value={where}
        onValue={onWhere}
        placeholder="tags.site=berlin and speedClass!=s1.slow"
        hint="Same syntax as simfleet sims list --where"
      />
      <SpeedClass {...{ form, onForm }} />
    </div>
  );
}

function SpeedClass({ form, onForm, hint }: FormPart & { hint?: string }): JSX.Element {
  return (
    <div class="narrow">
      <TextField
        label="Speed class"
        value={form.speedClass}
        onValue={(speedClass) => onForm({ ...form, speedClass })}
        suggestions={profileReport.value?.speedClasses ?? []}
        hint={hint}
      />
    </div>
  );
}
