/** Activity: a summary since a time, the event feed, and the audit log. */
import type { JSX } from "preact";
import { View } from "../../parts/view.tsx";
import { place } from "../../place.ts";
import { type ActivityTab, activityTabs, hrefOf, viewTitles } from "../../pure/route.ts";
import { session } from "../../session.ts";
import { Audit } from "./audit.tsx";
import { Events } from "./events.tsx";
import { Since } from "./since.tsx";

const contents: Readonly<Record<ActivityTab, () => JSX.Element>> = { since: Since, events: Events, audit: Audit };

export function Activity(): JSX.Element {
  const { id = "since" } = place.value;
  const tab = id in contents ? (id as ActivityTab) : "since";
  const Content = contents[tab];
  // The audit log is for admins only.
  const tabs = Object.entries(activityTabs).filter(([name]) => name !== "audit" || session.value?.me.role === "admin");
  return (
    <View title={viewTitles.activity}>
      <nav class="tabs" aria-label={viewTitles.activity}>
        {tabs.map(([name, text]) => (
          <a key={name} href={hrefOf("activity", name)} aria-current={name === tab ? "page" : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <Content />
    </View>
  );
}
