/** The header of a view: its name, a description, and its actions. */
import type { ComponentChildren, JSX } from "preact";

interface ViewProps {
  readonly title: ComponentChildren;
  readonly says?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function View({ title, says, actions, children }: ViewProps): JSX.Element {
  return (
    <div class="view">
      <div class="view-head">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {says !== undefined && <p>{says}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
