/** Notifications in a corner, also announced to screen readers. Errors stay until they are dismissed. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Problem, adviceOf } from "../pure/problem.ts";
import { Icon } from "./icon.tsx";
import { Said } from "./ref.tsx";

interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed";
  readonly text: string;
  readonly advice?: string | undefined;
}

const toasts = signal<readonly Toast[]>([]);
let nextId = 1;
const readingMs = 6_000;

export function say(text: string): void {
  const id = add({ kind: "done", text });
  setTimeout(() => putAway(id), readingMs);
}

export function sayProblem(problem: Problem): void {
  add({ kind: "failed", text: problem.message, advice: adviceOf(problem) });
}

function add(toast: Omit<Toast, "id">): number {
  const id = nextId;
  nextId += 1;
  toasts.value = [...toasts.value.slice(-2), { ...toast, id }];
  return id;
}

function putAway(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, advice }) => (
        <div key={id} class={`notice ${kind === "failed" ? "is-bad" : ""}`}>
          <Icon name={kind === "failed" ? "warn" : "done"} />
          <div>
            <span>
              <Said text={text} />
            </span>
            {advice !== undefined && <span class="hint">{advice}</span>}
          </div>
          <button type="button" class="button is-plain is-small" aria-label="Dismiss" onClick={() => putAway(id)}>
            <Icon name="cross" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
