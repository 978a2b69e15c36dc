/** Webhook endpoints and their delivery status. */
import type { JSX } from "preact";
import { ask } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, useAction } from "../../parts/button.tsx";
import { Empty, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { grouped } from "../../pure/format.ts";
import { Problem } from "../../pure/problem.ts";
import type { DeliveryReport, TestReport, WebhookReport } from "../../pure/shapes.ts";
import { refusal } from "../../session.ts";
import { Said } from "../../parts/said.tsx";

export function Webhooks(): JSX.Element {
  const { value, problem, refresh } = useLive<{ webhooks: WebhookReport[] }>("/v1/webhooks", {
    ms: 15_000,
    andOn: ["webhook."],
  });
  return (
    <>
      <Panel title="Webhooks" hint="Endpoints that receive signed event messages">
        <ProblemNotice problem={problem} what="The webhooks could not be loaded" />
        {value === undefined && problem === undefined && <Waiting what="the webhooks" />}
        {value?.webhooks.length === 0 && (
          <Empty command={'webhooks: { ops: { url: "https://…", secretFile: /run/secrets/ops, events: ["run.*"] } }'}>
            No webhooks. Add a line such as this one to the configuration to be notified when a run ends:
          </Empty>
        )}
        {value !== undefined && value.webhooks.length > 0 && (
          <Table
            label="Webhooks"
            rows={value.webhooks}
            keyOf={({ name }) => name}
            columns={[
              { label: "Name", cell: ({ name }) => <b class="nowrap">{name}</b> },
              { label: "Address", cell: ({ url }) => <span class="mono change">{url}</span> },
              { label: "Events", cell: ({ events }) => events.join(", ") },
              { label: "State", cell: (webhook) => <State {...webhook} /> },
              { label: "Queued", kind: "number", cell: ({ pending }) => grouped(pending) },
              {
                label: "Last",
                kind: "tight",
                cell: ({ lastDelivery }) => lastDelivery && <Ago at={lastDelivery.createdAt} />,
              },
              {
                label: "Actions",
                kind: "act",
                cell: (webhook) => <WebhookButtons webhook={webhook} onChanged={refresh} />,
              },
            ]}
          />
        )}
      </Panel>
      {value !== undefined && value.webhooks.length > 0 && <Deliveries />}
    </>
  );
}

function State({ state, reason }: WebhookReport): JSX.Element {
  return (
    <>
      <Badge state={state} />
      {reason !== null && (
        <span class="quiet">
          <Said text={reason} />
        </span>
      )}
    </>
  );
}

function WebhookButtons({ webhook, onChanged }: { webhook: WebhookReport; onChanged: () => void }): JSX.Element {
  const { isBusy, act } = useAction();
  const { name, state } = webhook;
  const route = `/v1/webhooks/${encodeURIComponent(name)}`;
  const resume = async (): Promise<string> => {
    await ask(`${route}/resume`, { method: "POST" });
    onChanged();
    return `${name} resumed.`;
  };
  const send = async (): Promise<string> => {
    const test = await ask<TestReport>(`${route}/test`, { method: "POST" });
    onChanged();
    if (!test.accepted)
      throw new Problem(200, `${name} did not accept the test message: ${test.reason ?? test.status}`);
    return `${name} accepted the test message.`;
  };
  return (
    <div class="actions">
      {state === "stopped" && (
        <Button
          isSmall
          {...{ isBusy }}
          refusal={refusal("operator")}
          label={`Resume ${name}`}
          onPress={() => act(resume)}
        >
          Resume
        </Button>
      )}
      <Button isSmall {...{ isBusy }} refusal={refusal("operator")} label={`Test ${name}`} onPress={() => act(send)}>
        Test
      </Button>
    </div>
  );
}

function Deliveries(): JSX.Element {
  const pages = usePages<DeliveryReport>("/v1/deliveries", "deliveries", {
    query: { limit: 20 },
    every: { ms: 10_000, andOn: ["webhook."] },
  });
  const { isBusy, act } = useAction();
  const again = async (deliveryId: string): Promise<string> => {
    await ask(`/v1/deliveries/${encodeURIComponent(deliveryId)}/redeliver`, { method: "POST" });
    pages.first.refresh();
    return "Message queued.";
  };
  return (
    <Panel title="Deliveries">
      <ProblemNotice problem={pages.first.problem} />
      {pages.first.value !== undefined && pages.rows.length === 0 && <Empty>No messages yet.</Empty>}
      {pages.rows.length > 0 && (
        <Table
          label="Deliveries"
          rows={pages.rows}
          keyOf={({ deliveryId }) => deliveryId}
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
                  <Button
                    isSmall
                    isBusy={isBusy}
                    refusal={refusal("operator")}
                    onPress={() => act(() => again(deliveryId))}
                  >
                    Send again
                  </Button>
                ),
            },
          ]}
        />
      )}
      <More pages={pages} what="Older deliveries" />
    </Panel>
  );
}
