/** What an address leads to that no page has. */
import type { JSX } from "preact";
import { Notice } from "../parts/notice.tsx";
import { View } from "../parts/view.tsx";
import { hrefOf } from "../pure/route.ts";
import { shellText as text, viewTitles } from "../strings/shell.ts";

export function Missing(): JSX.Element {
  return (
    <View title={viewTitles.missing}>
      <Notice kind="warn">
        <b>{text.missing}</b>
        <span>
          {text.missingHint} <a href={hrefOf("overview")}>{viewTitles.overview}</a>
        </span>
      </Notice>
    </View>
  );
}
