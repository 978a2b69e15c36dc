/** Icons of the dashboard, drawn on a 20 px grid. They are always accompanied by text or a label. */
import type { JSX } from "preact";

const paths = {
  sims: "M5 2.5h6.5L15 6v11.5H5zM7.5 9.5h5v5h-5zM7.5 12h5M10 9.5v5",
  runs: "M6 4.5v11l9-5.5-9-5.5Z",
  quota: "M3.5 14a7 7 0 1 1 13 0M10 11.5l3.2-4",
  credentials: "M12.5 3a4.5 4.5 0 1 1-4 6.6L3 15v2h3v-2h2v-2h1.6",
  schedules: "M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14ZM10 6v4.2l2.8 1.8",
  freezes: "M10 2.5v15M3.5 6.2l13 7.6M16.5 6.2l-13 7.6M8 4l2 2 2-2M8 16l2-2 2 2",
  activity: "M2.5 10H6l2-5 4 10 2-5h3.5",
  overview: "M3 3.5h6v6H3zM11 3.5h6v6h-6zM3 11.5h6v5H3zM11 11.5h6v5h-6z",
  search: "M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM13 13l4 4",
  copy: "M7 7h9.5v9.5H7zM4 13V3.5h9.5",
  done: "M4 10.5l4 4 8-9",
  cross: "M5 5l10 10M15 5 5 15",
  warn: "M10 3 2.5 16.5h15L10 3ZM10 8.5v3.5M10 14.3v.1",
  paused: "M7 5v10M13 5v10",
  busy: "M10 3a7 7 0 1 1-6.3 4",
  waiting: "M6 3h8M6 17h8M7 3c0 4 6 4.5 6 7s-6 3-6 7M13 3c0 4-6 4.5-6 7s6 3 6 7",
  arrow: "M4 10h11M11 6l4 4-4 4",
  down: "M10 3.5v9M6 9l4 4 4-4M4 16.5h12",
  file: "M5.5 2.5h6l4 4v11h-10zM11.5 2.5v4h4",
  sync: "M4 8a6.3 6.3 0 0 1 11.5-1.5M16 3v4h-4M16 12a6.3 6.3 0 0 1-11.5 1.5M4 17v-4h4",
  person: "M10 3.5a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4ZM3.5 17c.6-3.6 3.2-5 6.5-5s5.9 1.4 6.5 5",
  menu: "M3 6h14M3 10h14M3 14h14",
  stopped: "M5.5 5.5h9v9h-9z",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg viewBox="0 0 20 20" width={size} height={size} fill="none" aria-hidden="true" focusable="false">
      <path d={paths[name]} stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

export function Brand(): JSX.Element {
  return (
    <a class="brand" href="#/overview">
      <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true" focusable="false">
        <path d="M8 3h11l7 7v16a3 3 0 0 1-3 3H8a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3Z" fill="currentColor" />
        <path d="M10 24v-4M16 24v-8M22 24V13" stroke="var(--panel)" stroke-width="3" stroke-linecap="round" />
      </svg>
      simfleet
    </a>
  );
}
