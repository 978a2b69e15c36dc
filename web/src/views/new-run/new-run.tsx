/** A new run: an operation, a file or a filter, options, the plan, and the start. Nothing changes before the start. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { Button } from "../../parts/button.tsx";
import { Form } from "../../parts/field.tsx";
import { Loaded, Panel, ProblemNotice } from "../../parts/notice.tsx";
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
import { PlanResult } from "./plan-result.tsx";
import { RunOptions, RunSource, type Source } from "./run-source.tsx";

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
  /** What the plan was made from; if that has changed since, the plan is stale. */
  readonly of: string;
}

interface OrderProps {
  readonly where: string;
  readonly operations: readonly OperationReport[];
}

function Order({ where: whereAtFirst, operations }: OrderProps): JSX.Element | null {
  const [source, setSource] = useState<Source>(() => firstSource(whereAtFirst));
  const [form, setForm] = useState<PlanForm>(emptyForm);
  const { made, problem, isBusy, make } = usePlanning();
  const result = useRef<HTMLDivElement>(null);
  const operation = operations.find(({ name }) => name === form.operation) ?? operations[0];
  if (operation === undefined) return null;

  const { kind, file, where } = source;
  const from = rowsFrom(source);
  const asked = JSON.stringify([kind, kind === "file" ? [file?.name, file?.size, file?.lastModified] : where, form]);
  const off = refusal("operator") ?? lackOf(source, operation, form);

  const makePlan = async (): Promise<void> => {
    if (off !== undefined || isBusy) return;
    await make({ operation, form, from, source: kind === "file" ? file : where.trim() }, asked);
    result.current?.focus();
  };

  return (
    <>
      <Form class="panel form" label="Run settings" onSubmit={() => void makePlan()}>
        <OperationChoice {...{ operations, operation }} onOperation={(name) => setForm({ ...form, operation: name })} />
        <RunSource {...{ source, onSource: setSource }} columns={columnsFor(operation, form.texts)} />
        {from === "file" && <ExampleFile operation={operation} />}
        <InputFields {...{ operation, from }} texts={form.texts} onTexts={(texts) => setForm({ ...form, texts })} />
        <RunOptions form={form} faults={faultsOf(form)} onForm={setForm} />
        <div class="actions">
          <Button kind={made?.of === asked ? undefined : "main"} type="submit" isBusy={isBusy} refusal={off}>
            {isBusy ? "Planning …" : made === undefined ? "Preview" : "Update plan"}
          </Button>
          {off !== undefined && <span class="hint">{off}</span>}
        </div>
      </Form>
      <div ref={result} tabIndex={-1} class="plan-place" aria-live="polite">
        <ProblemNotice problem={problem} what="The plan could not be created" />
        {made !== undefined && (
          <Panel title="Plan" hint={`${made.plan.operation} · ${made.plan.file ?? made.plan.where ?? ""}`}>
            <PlanResult key={made.plan.planId} plan={made.plan} form={form} isStale={made.of !== asked} />
          </Panel>
        )}
      </div>
    </>
  );
}

function firstSource(where: string): Source {
  const file = takeSelectedSims();
  return { kind: where === "" ? "file" : "filter", file, hasOnlyKeys: file !== undefined, where };
}

function rowsFrom({ kind, hasOnlyKeys }: Source): RowsFrom {
  return kind === "file" && hasOnlyKeys ? "selection" : kind;
}

interface Planning {
  readonly made: Made | undefined;
  /** Why the last plan failed. */
  readonly problem: Problem | undefined;
  readonly isBusy: boolean;
  /** @param of what it is made from, as text */
  readonly make: (order: PlanOrder, of: string) => Promise<void>;
}

function usePlanning(): Planning {
  const [made, setMade] = useState<Made | undefined>();
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isBusy, setBusy] = useState(false);
  const make: Planning["make"] = async (order, of) => {
    setBusy(true);
    setProblem(undefined);
    try {
      setMade({ plan: await planOf(order), of });
    } catch (thrown) {
      setMade(undefined);
      setProblem(problemFrom(thrown));
    } finally {
      setBusy(false);
    }
  };
  return { made, problem, isBusy, make };
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

/** What keeps a plan from being made. */
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
