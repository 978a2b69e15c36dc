/** Panels, empty states and error messages. */
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { type Problem, adviceOf } from "../pure/problem.ts";
import { nowMs } from "../clock.ts";
import type { Live } from "../live.ts";
import { duration, counted } from "../pure/format.ts";
import type { CurrentProblem } from "../pure/shapes.ts";
import { Icon, type IconName } from "./icon.tsx";
import { At } from "./time.tsx";
import { intoView } from "./table.tsx";
import { place } from "../place.ts";
import { Said } from "./ref.tsx";

interface PanelProps {
  /** The part of the page that an address can name. */
  readonly at?: string;
  readonly title: string;
  readonly hint?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Panel({ at, title, hint, actions, children }: PanelProps): JSX.Element {
  const titleId = useId();
  const isNamed = at !== undefined && at === place.value.id;
  return (
    <section class="panel" aria-labelledby={titleId} {...(isNamed ? { ref: intoView } : {})}>
      <div class="panel-head">
        <div>
          <h2 id={titleId}>{title}</h2>
          {hint !== undefined && <p>{hint}</p>}
        </div>
        {actions !== undefined && actions !== false && <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** @param command the equivalent CLI command, or the one that creates the first item */
export function Empty({
  children,
  command,
}: {
  children: ComponentChildren;
  command?: string | undefined;
}): JSX.Element {
  return (
    <div class="empty">
      <p>{children}</p>
      {command !== undefined && <code>{command}</code>}
    </div>
  );
}

interface NoticeProps {
  readonly kind: "bad" | "warn" | "plain";
  readonly icon?: IconName;
  readonly children: ComponentChildren;
}

export function Notice({ kind, icon = "warn", children }: NoticeProps): JSX.Element {
  return (
    <div class={`notice is-${kind}`} role={kind === "bad" ? "alert" : undefined}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

/** A failed request: what is wrong, where, and what to do. */
export function ProblemNotice({ problem, what }: { problem: Problem | undefined; what?: string }): JSX.Element | null {
  if (problem === undefined) return null;
  const advice = adviceOf(problem);
  return (
    <Notice kind="bad">
      {what !== undefined && <b>{what}</b>}
      <span>
        <Said text={problem.message} />
      </span>
      {problem.faults.length > 0 && (
        <ul>
          {problem.faults.map(({ where, message }) => (
            <li key={`${where} ${message}`}>
              {where !== "" && <b>{where}: </b>}
              <Said text={message} />
            </li>
          ))}
        </ul>
      )}
      {advice !== undefined && <span class="hint">{advice}</span>}
    </Notice>
  );
}

/** Why work makes no progress now, and when it is retried. Renders nothing if there is no problem. */
export function CurrentProblemNotice({ problem }: { problem: CurrentProblem | undefined }): JSX.Element | null {
  if (problem === undefined) return null;
  const { message, attempts, since, nextAttemptAt } = problem;
  return (
    <Notice kind="warn">
      <b>
        <Said text={message} />
      </b>
      <span>
        {`${counted(attempts, "failed attempt")} since`} <At at={since} />
        {nextAttemptAt !== null && `, next attempt ${untilText(nextAttemptAt)}`}
      </span>
    </Notice>
  );
}

/** `now`, `in 5 s` */
export function untilText(at: string): string {
  const seconds = (Date.parse(at) - nowMs.value) / 1_000;
  return seconds < 1 ? "now" : `in ${duration(seconds)}`;
}

export function Waiting({ what }: { what: string }): JSX.Element {
  return <p class="quiet">{`Loading the ${what} …`}</p>;
}

interface LoadedProps<T> {
  readonly live: Pick<Live<T>, "value" | "problem">;
  readonly what: string;
  /** Name of the loaded thing, if the usual words do not fit. */
  readonly loading?: string;
  readonly children: (value: T) => ComponentChildren;
}

/** A value once it is there; before it, that it is loading; and why it cannot be loaded, or is out of date. */
export function Loaded<T>({ live: { value, problem }, what, loading = what, children }: LoadedProps<T>): JSX.Element {
  return (
    <>
      <ProblemNotice problem={problem} what={`The ${what} could not be loaded`} />
      {value === undefined ? problem === undefined && <Waiting what={loading} /> : children(value)}
    </>
  );
}
