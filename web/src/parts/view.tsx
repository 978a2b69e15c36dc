/** The header of a view: its name, a description, and its actions. */
import type { ComponentChildren, JSX } from "preact";
import { place } from "../place.ts";
import { hrefOf, viewTitles } from "../pure/route.ts";

interface ViewProps {
  readonly title: ComponentChildren;
  readonly says?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function View({ title, says, actions, children }: ViewProps): JSX.Element {
  return (
    <div class={`view ${place.value.view}-view`}>
      <div class="view-head">
        <div>
          <Breadcrumbs />
          <h1 tabIndex={-1}>{title}</h1>
          {says !== undefined && <p>{says}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** The way back from one object to its list. */
function Breadcrumbs(): JSX.Element | null {
  const { view, id } = place.value;
  const list = view === "new" ? "runs" : view;
  if (view !== "new" && (id === undefined || (view !== "runs" && view !== "sims"))) return null;
  return (
    <nav class="path" aria-label="Breadcrumbs">
      <a href={hrefOf(list)}>{viewTitles[list]}</a>
    </nav>
  );
}
