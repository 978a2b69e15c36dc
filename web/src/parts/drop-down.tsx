/** A button that opens a small panel below it; Escape and a press outside it close it. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function DropDown({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  const place = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    const closeElsewhere = ({ target }: Event): void => {
      const host = place.current;
      if (host?.open === true && target instanceof Node && !host.contains(target)) host.open = false;
    };
    addEventListener("pointerdown", closeElsewhere, { signal: stop.signal });
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
