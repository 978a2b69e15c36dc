/** Webhook endpoints and their delivery status. */
import type { JSX } from "preact";
import { ask } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { ActionButton, PostButton } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Empty, Loaded, Panel } from "../../parts/notice.tsx";
import { PageTable, usePages } from "../../parts/pages.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { grouped } from "../../pure/format.ts";
import { Problem } from "../../pure/problem.ts";
import type { DeliveryReport, TestReport, WebhookReport } from "../../pure/shapes.ts";
import { StateAndReason } from "./schedules.tsx";

export function Webhooks(): JSX.Element {
  const live = useLive<{ webhooks: WebhookReport[] }>("/v1/webhooks", { ms: 15_000, andOn: ["webhook."] });
  return (
    <>
      <Panel at="webhooks" title="Webhooks" hint="Endpoints that receive signed event messages">
        <Loaded live={live} what="webhooks">
          {({ webhooks }) => (
            <Table
              label="Webhooks"
              rows={webhooks}
              keyOf={({ name }) => name}
              empty={
                <Empty
                  command={'webhooks: { ops: { url: "https://…", secretFile: /run/secrets/ops, events: ["run.*"] } }'}
                >
                  No webhooks. To be notified when a run ends, add a line such as this one to the configuration:
                </Empty>
              }
              columns={[
                { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
                { label: "Address", cell: ({ url }) => <span class="mono change">{url}</span> },
                { label: "Events", cell: ({ events }) => events.join(", ") },
                { label: "State", cell: (webhook) => <StateAndReason {...webhook} /> },
                { label: "Queued", kind: "number", cell: ({ pending }) => grouped(pending) },
                {
                  label: "Last",
                  kind: "tight",
                  cell: ({ lastDelivery }) => lastDelivery && <Ago at={lastDelivery.createdAt} />,
                },
                {
                  label: "Actions",
                  kind: "act",
                  cell: (webhook) => <WebhookButtons webhook={webhook} onChanged={live.refresh} />,
                },
              ]}
            />
          )}
        </Loaded>
      </Panel>
      {live.value !== undefined && live.value.webhooks.length > 0 && <Deliveries />}
    </>
  );
}

function WebhookButtons({ webhook, onChanged }: { webhook: WebhookReport; onChanged: () => void }): JSX.Element {
  const { name, state } = webhook;
  const path = `/v1/webhooks/${encodeURIComponent(name)}`;
  const send = async (): Promise<string> => {
    const test = await ask<TestReport>(`${path}/test`, { method: "POST" });
    onChanged();
    if (!test.accepted)
      throw new Problem(200, `${name} did not accept the test message: ${test.reason ?? test.status}`);
    return `${name} accepted the test message.`;
  };
  return (
    <div class="actions">
      {state === "stopped" && (
        <PostButton
          isSmall
          needs="operator"
          label={`Resume ${name}`}
          path={`${path}/resume`}
          done={`${name} resumed.`}
          onDone={onChanged}
        >
          Resume
        </PostButton>
      )}
      <ActionButton isSmall needs="operator" label={`Test ${name}`} work={send}>
        Test
      </ActionButton>
    </div>
  );
}

function Deliveries(): JSX.Element {
  const pages = usePages<DeliveryReport>("/v1/deliveries", "deliveries", {
    query: { limit: 20 },
    every: { ms: 10_000, andOn: ["webhook."] },
  });
  return (
    <Panel title="Deliveries">
      <PageTable
        pages={pages}
        more="Older deliveries"
        isDense
        label="Deliveries"
        keyOf={({ deliveryId }) => deliveryId}
        empty={<Empty>No messages yet.</Empty>}
        columns={[
          { label: "Time", kind: "tight", cell: ({ createdAt }) => <Ago at={createdAt} /> },
          { label: "Webhook", cell: ({ webhook }) => webhook },
          { label: "Event", cell: ({ eventType }) => <span class="mono">{eventType}</span> },
          { label: "State", kind: "tight", cell: ({ state }) => <Badge state={state} /> },
          { label: "Attempts", kind: "number", cell: ({ attempts }) => grouped(attempts) },
          { label: "Last response", cell: ({ lastStatus, lastReason }) => lastReason ?? lastStatus },
          {
            label: "Actions",
            kind: "act",
            cell: ({ deliveryId, state }) =>
              state === "failed" && (
                <PostButton
                  isSmall
                  needs="operator"
                  path={`/v1/deliveries/${encodeURIComponent(deliveryId)}/redeliver`}
                  done="Message queued."
                  onDone={pages.first.refresh}
                >
                  Send again
                </PostButton>
              ),
          },
        ]}
      />
    </Panel>
  );
}
