/** A button that opens a small panel below it; Escape and a press outside it close it. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function DropDown({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  const place = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    const close = ({ target, type }: Event): void => {
      const host = place.current;
      if (host?.open !== true || !(target instanceof Node)) return;
      // A link within it leads to what it was opened for.
      const isDone = type === "click" ? target instanceof HTMLAnchorElement : !host.contains(target);
      if (isDone) host.open = false;
    };
    for (const type of ["pointerdown", "click"]) addEventListener(type, close, { signal: stop.signal });
    return () => stop.abort();
  }, []);
  return (
    <details
      ref={place}
      class="drop-down"
      onKeyDown={(event) => {
        const host = place.current;
        if (event.key !== "Escape" || host === null || !host.open) return;
        host.open = false;
        host.querySelector("summary")?.focus();
      }}
    >
      <summary class="button">{label}</summary>
      {children}
    </details>
  );
}
