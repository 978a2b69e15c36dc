/** A new run: an operation, a file or a filter, options, the plan, and the start. Nothing changes before the start. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { Button } from "../../parts/form/button.tsx";
import { Form, TextField } from "../../parts/form/field.tsx";
import { Loaded, ProblemNotice } from "../../parts/notice.tsx";
import { View } from "../../parts/view.tsx";
import {
  type RowsFrom,
  columnsFor,
  inputFaults,
  missingInputs,
  setOf,
  splitSecrets,
} from "../../pure/runs/operation.ts";
import { type PlanForm, emptyForm, faultsOf, operationQuery, queryOf } from "../../pure/runs/plan-options.ts";
import { type Problem, problemFrom } from "../../pure/problem.ts";
import type { OperationReport, PlanReport } from "../../pure/shapes.ts";
import { takeSelectedSims, withColumns } from "../../selected-sims.ts";
import { profile, refusal } from "../../session.ts";
import { viewTitles } from "../../pure/route.ts";
import { ExampleFile, InputFields, OperationChoice } from "./operation-fields.tsx";
import { useOperations } from "./operations.ts";
import { PlanDetails, PlanSummary, StartButton } from "./plan-result.tsx";
import { RunOptions, RunSource, type Source, rowsFrom } from "./run-source.tsx";

/** @param where initial filter, from a link on another view */
export function NewRun({ where }: { where: string }): JSX.Element {
  const live = useOperations(profile.value);
  return (
    <View
      title={viewTitles.new}
      says="Preview the changes first. Nothing is sent to the platform until you start the run."
    >
      <Loaded live={live} what="operations">
        {({ operations }) => <Order where={where} operations={operations} />}
      </Loaded>
    </View>
  );
}

interface Made {
  readonly plan: PlanReport;
  readonly of: string;
}

interface OrderProps {
  readonly where: string;
  readonly operations: readonly OperationReport[];
}

function Order({ where: whereAtFirst, operations }: OrderProps): JSX.Element | null {
  const [source, setSource] = useState<Source>(() => firstSource(whereAtFirst));
  const [form, setForm] = useState<PlanForm>(emptyForm);
  const [made, setMade] = useState<Made | undefined>();
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isBusy, setBusy] = useState(false);
  const bar = useRef<HTMLElement>(null);
  const operation = operations.find(({ name }) => name === form.operation) ?? operations[0];
  if (operation === undefined) return null;

  const from = rowsFrom(source);
  const off = refusal("operator") ?? lackOf(source, operation, form);
  const isStale = made !== undefined && made.of !== textOf(source, form);

  const makePlan = async (of: Source = source, by: PlanForm = form): Promise<void> => {
    if ((refusal("operator") ?? lackOf(of, operation, by)) !== undefined || isBusy) return;
    const rows = of.kind === "file" ? of.file : of.where.trim();
    setBusy(true);
    setProblem(undefined);
    try {
      const plan = await planOf({ operation, form: by, from: rowsFrom(of), source: rows });
      setMade({ plan, of: textOf(of, by) });
    } catch (thrown) {
      setMade(undefined);
      setProblem(problemFrom(thrown));
    } finally {
      setBusy(false);
    }
    bar.current?.focus();
  };
  const take = (next: Source): void => {
    setSource(next);
    // A file that needs nothing else is planned at once.
    if (next.file !== source.file) void makePlan(next);
  };
  const choose = (change: Partial<PlanForm>): void => {
    const next = { ...form, ...change };
    setForm(next);
    void makePlan(source, next);
  };

  return (
    <Form class="new-run" label="Run settings" onSubmit={() => void makePlan()}>
      <section class="panel form" aria-label="Settings">
        <OperationChoice {...{ operations, operation }} onOperation={(name) => setForm({ ...form, operation: name })}>
          <TextField
            label="Name"
            value={form.name}
            onValue={(name) => setForm({ ...form, name })}
            hint="Shown in lists"
          />
        </OperationChoice>
        <RunSource {...{ source, onSource: take }} columns={columnsFor(operation, form.texts)}>
          <ExampleFile operation={operation} />
        </RunSource>
        <InputFields {...{ operation, from }} texts={form.texts} onTexts={(texts) => setForm({ ...form, texts })} />
        <RunOptions form={form} faults={faultsOf(form)} onForm={setForm} />
      </section>
      <section ref={bar} tabIndex={-1} class="panel plan-bar" aria-label="Plan" aria-live="polite">
        <ProblemNotice problem={problem} what="The plan could not be created" />
        {made !== undefined && <PlanSummary plan={made.plan} {...{ form, isStale, isBusy, choose }} />}
        <div class="actions">
          {made !== undefined && !isStale && <StartButton plan={made.plan} form={form} />}
          {(made === undefined || isStale) && (
            <Button kind="main" type="submit" isBusy={isBusy} refusal={off}>
              {isBusy ? "Planning …" : made === undefined ? "Preview" : "Update plan"}
            </Button>
          )}
          {off !== undefined && <span class="hint">{off}</span>}
        </div>
      </section>
      {made !== undefined && <PlanDetails key={made.plan.planId} plan={made.plan} />}
    </Form>
  );
}

/** Source of a plan. If it has changed since, the plan is stale. */
function textOf({ kind, file, where }: Source, form: PlanForm): string {
  return JSON.stringify([kind, kind === "file" ? [file?.name, file?.size, file?.lastModified] : where, form]);
}

function firstSource(where: string): Source {
  const file = takeSelectedSims();
  return { kind: where === "" ? "file" : "filter", file, hasOnlyKeys: file !== undefined, where };
}

interface PlanOrder {
  readonly operation: OperationReport;
  readonly form: PlanForm;
  readonly from: RowsFrom;
  /** A file, or a filter. */
  readonly source: File | string | undefined;
}

/** @throws Problem */
async function planOf({ operation, form, from, source }: PlanOrder): Promise<PlanReport> {
  const query = queryOf(form, profile.value);
  const set = setOf(operation, from, form.texts);
  if (source instanceof File) {
    const { values, secrets } = splitSecrets(operation, set);
    // As a form, so that the file name is sent: it is the run's default name.
    const body = new FormData();
    body.append("file", from === "selection" ? await withColumns(source, secrets) : source);
    const more = operationQuery(operation.name, values);
    return ask("/v1/plans", { method: "POST", query: { ...query, ...more }, body });
  }
  return ask("/v1/plans", { method: "POST", query, body: { where: source, operation: operation.name, set } });
}

/** Reason why no plan can be made. */
function lackOf(source: Source, operation: OperationReport, form: PlanForm): string | undefined {
  const { kind, file, where } = source;
  const from = rowsFrom(source);
  if (kind === "file" && file === undefined) return "Choose a file first.";
  if (kind === "filter" && where.trim() === "") return "Enter a filter first.";
  const missing = from === "file" ? [] : missingInputs(operation, form.texts);
  if (missing.length > 0) return `Enter a value for ${missing.join(", ")}.`;
  const faults = { ...faultsOf(form), ...inputFaults(operation, from, form.texts) };
  return Object.keys(faults).length > 0 ? "Fix the highlighted fields." : undefined;
}
