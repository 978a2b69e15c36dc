/** A new run: a file or a filter, options, the plan, and the start. Nothing changes before the start. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { ask } from "../ask.ts";
import { Button } from "../parts/button.tsx";
import { Choices } from "../parts/field.tsx";
import { Panel, ProblemNotice } from "../parts/notice.tsx";
import { View } from "../parts/view.tsx";
import { type PlanForm, emptyForm, faultsOf, queryOf } from "../pure/plan-options.ts";
import { type Problem, problemFrom } from "../pure/problem.ts";
import type { PlanReport } from "../pure/shapes.ts";
import { profile, refusal } from "../session.ts";
import { PlanResult } from "./plan-result.tsx";
import { FileSource, FilterSource } from "./run-source.tsx";
import { RunOptions } from "./run-options.tsx";

type Kind = "file" | "filter";

interface Made {
  readonly plan: PlanReport;
  /** What the plan was made from; if that has changed since, the plan is stale. */
  readonly of: string;
}

/** @param where initial filter, from a link on the fleet view */
export function NewRun({ where: whereAtFirst }: { where: string }): JSX.Element {
  const [kind, setKind] = useState<Kind>(whereAtFirst === "" ? "file" : "filter");
  const [file, setFile] = useState<File | undefined>();
  const [where, setWhere] = useState(whereAtFirst);
  const [form, setForm] = useState<PlanForm>(emptyForm);
  const [made, setMade] = useState<Made | undefined>();
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isBusy, setBusy] = useState(false);
  const result = useRef<HTMLDivElement>(null);

  const asked = JSON.stringify([kind, kind === "file" ? [file?.name, file?.size, file?.lastModified] : where, form]);
  const faults = faultsOf(form);
  const missing = missingOf({ kind, file, where, form });
  const off =
    refusal("operator") ?? missing ?? (Object.keys(faults).length > 0 ? "Fix the highlighted fields." : undefined);

  const makePlan = async (): Promise<void> => {
    if (off !== undefined || isBusy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const query = queryOf(kind === "file" ? form : { ...form, speedClass: "" }, profile.value);
      const body = file !== undefined && kind === "file" ? formOf(file) : filterOf(where, form);
      const plan = await ask<PlanReport>("/v1/plans", { method: "POST", query, body });
      setMade({ plan, of: asked });
      result.current?.focus();
    } catch (thrown) {
      setMade(undefined);
      setProblem(problemFrom(thrown));
    } finally {
      setBusy(false);
    }
  };

  return (
    <View title="New run" says="Preview the changes first. Nothing is sent to the platform until you start the run.">
      <form
        class="panel form"
        aria-label="Run settings"
        onSubmit={(event) => {
          event.preventDefault();
          void makePlan();
        }}
      >
        <div>
          <Choices<Kind>
            label="Source of SIMs"
            value={kind}
            options={[
              { value: "file", text: "A CSV file" },
              { value: "filter", text: "A filter" },
            ]}
            onValue={setKind}
          />
        </div>
        {kind === "file" ? (
          <FileSource file={file} onFile={setFile} form={form} onForm={setForm} />
        ) : (
          <FilterSource where={where} onWhere={setWhere} form={form} onForm={setForm} />
        )}
        <RunOptions form={form} faults={faults} onForm={setForm} />
        <div class="actions">
          <Button kind={made?.of === asked ? undefined : "main"} type="submit" isBusy={isBusy} refusal={off}>
            {isBusy ? "Reading …" : made === undefined ? "Preview" : "Update plan"}
          </Button>
          {off !== undefined && <span class="hint">{off}</span>}
        </div>
      </form>
      <div ref={result} tabIndex={-1} class="plan-place" aria-live="polite">
        <ProblemNotice problem={problem} what="The plan failed" />
        {made !== undefined && (
          <Panel title="Plan" hint={made.plan.file ?? made.plan.where}>
            <PlanResult key={made.plan.planId} plan={made.plan} form={form} isStale={made.of !== asked} />
          </Panel>
        )}
      </div>
    </View>
  );
}

/** As a form, so that the file name is sent: it is the run's default name. */
function formOf(file: File): FormData {
  const body = new FormData();
  body.append("file", file);
  return body;
}

function filterOf(where: string, { speedClass }: PlanForm): { where: string; speedClass: string } {
  return { where: where.trim(), speedClass: speedClass.trim() };
}

function missingOf(given: { kind: Kind; file: File | undefined; where: string; form: PlanForm }): string | undefined {
  const { kind, file, where, form } = given;
  if (kind === "file") return file === undefined ? "Choose a file first." : undefined;
  if (where.trim() === "") return "Enter a filter first.";
  return form.speedClass.trim() === "" ? "Choose a speed class." : undefined;
}
