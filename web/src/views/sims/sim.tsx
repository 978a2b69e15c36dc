/** One SIM: its fields, in the inventory and on the platform, its changes, the runs that touched it, its statuses. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { addressOf } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Notice, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { Copy } from "../../parts/ref.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { replacePlace } from "../../place.ts";
import { equals } from "../../pure/sims/filter.ts";
import { hrefOf } from "../../pure/route.ts";
import type { SimDocument } from "../../pure/shapes.ts";
import { leavesOf } from "../../pure/sims/sim.ts";
import { chooseProfile, profile, profileReport, refusal, session } from "../../session.ts";
import { useReading } from "../reading.ts";
import { SimFields } from "./sim-fields.tsx";
import { SimStatuses } from "./sim-statuses.tsx";
import { SimTimeline } from "./sim-timeline.tsx";

/** @param of its profile, from a link to a SIM of another profile than the selected one */
export function SimView({ sim, of }: { sim: string; of: string | undefined }): JSX.Element {
  useEffect(() => {
    if (of === undefined) return;
    if (session.value?.profiles.some(({ name }) => name === of) === true) chooseProfile(of);
    replacePlace(hrefOf("sims", sim));
  }, [of, sim]);
  const route = `/v1/sims/${encodeURIComponent(sim)}`;
  const query = { profile: profile.value };
  const stored = useLive<SimDocument>(addressOf(route, query), { ms: 15_000, andOn: ["sync.completed", "run."] });
  const fresh = useReading<SimDocument>(addressOf(`${route}/fresh`, query));
  const isUnknown = stored.value === undefined && stored.problem?.status === 404;
  const keyColumn = profileReport.value?.wording === "subscribers" ? "imsi" : "simId";
  return (
    <View
      title={
        <>
          {`SIM ${sim}`} <Copy id={sim} />
        </>
      }
      says={stored.value === undefined ? `Profile ${profile.value}` : <Facts record={stored.value} />}
      actions={
        <>
          {fresh.refused === undefined && (
            <Button isBusy={fresh.isBusy} refusal={refusal("operator")} onPress={fresh.read}>
              <Icon name="sync" size={16} />
              {fresh.isBusy ? "Reading …" : "Read from the platform now"}
            </Button>
          )}
          <a class="button is-main" href={hrefOf("new", undefined, { where: equals(keyColumn, sim) })}>
            New run for this SIM
          </a>
        </>
      }
    >
      {stored.value === undefined && stored.problem === undefined && <Waiting what="the SIM" />}
      {isUnknown ? (
        <Notice kind="warn">
          <b>{`This SIM is not in the inventory of the profile ${profile.value}`}</b>
          <span>Check the ID, or sync the fleet. If the platform has the SIM, you can read it from there.</span>
        </Notice>
      ) : (
        <ProblemNotice problem={stored.problem} what="The SIM could not be loaded" />
      )}
      {typeof stored.value?.goneAt === "string" && (
        <Notice kind="warn">
          <span>
            The platform has not listed this SIM since <Ago at={stored.value.goneAt} />.
          </span>
        </Notice>
      )}
      {fresh.refused !== undefined && <Notice kind="plain">{fresh.refused}</Notice>}
      {(stored.value !== undefined || fresh.value !== undefined) && (
        <SimFields stored={leavesOf(stored.value ?? {})} fresh={fresh.value} />
      )}
      <SimTimeline route={route} sim={sim} />
      <SimStatuses address={addressOf(`${route}/statuses`, query)} />
    </View>
  );
}

function Facts({ record: { addedAt, updatedAt, updatedBy, seenAt } }: { record: SimDocument }): JSX.Element {
  return (
    <>
      {`Profile ${profile.value}`}
      {" · discovered "}
      <Ago at={textOf(addedAt)} />
      {" · changed "}
      <Ago at={textOf(updatedAt)} />
      {typeof updatedBy === "string" && ` by a ${updatedBy}`}
      {" · seen "}
      <Ago at={textOf(seenAt)} />
    </>
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
