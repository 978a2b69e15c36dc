/** Shows in every view that changes are frozen, which is why runs and rotations are paused. */
import type { JSX } from "preact";
import { type Live, useLive } from "../../live.ts";
import { Notice } from "../../parts/notice.tsx";
import { At } from "../../parts/time.tsx";
import { hrefOf } from "../../pure/route.ts";
import type { FreezeReport, Held } from "../../pure/shapes.ts";
import { profile } from "../../session.ts";
import { viewTitles } from "../../pure/views.ts";

/** Configured windows open and close without an event. */
export function useFreezes(): Live<FreezeReport> {
  return useLive<FreezeReport>("/v1/freeze", { ms: 15_000, andOn: ["changes."] });
}

export function FrozenNotice(): JSX.Element {
  const { value } = useFreezes();
  const held = value?.profiles[profile.value] ?? undefined;
  return (
    <div class="above" role="status">
      {held !== undefined && <Frozen held={held} />}
    </div>
  );
}

function Frozen({ held }: { held: Held }): JSX.Element {
  return (
    <Notice kind="warn" icon="freezes">
      <b>Changes are frozen</b>
      <span>
        <HeldText held={held} /> <a href={hrefOf("freezes")}>{viewTitles.freezes}</a>
      </span>
    </Notice>
  );
}

/** The reason and the end. */
export function HeldText({ held: { reason, until } }: { held: Held }): JSX.Element {
  return (
    <>
      {reason.replace(/^t(?=he )/, "T")},{" "}
      {until === null ? (
        "until someone unfreezes."
      ) : (
        <>
          {"until "} <At at={until} />.
        </>
      )}
    </>
  );
}
