/** What an address leads to that no page has. */
import type { JSX } from "preact";
import { Notice } from "../parts/notice.tsx";
import { View } from "../parts/view.tsx";
import { hrefOf, viewTitles } from "../pure/route.ts";

export function Missing(): JSX.Element {
  return (
    <View title={viewTitles.missing}>
      <Notice kind="warn">
        <b>There is no page at this address</b>
        <span>
          Check the address, or continue here: <a href={hrefOf("overview")}>{viewTitles.overview}</a>
        </span>
      </Notice>
    </View>
  );
}
