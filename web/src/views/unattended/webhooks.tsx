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
import { columnsText } from "../../strings/parts.ts";
import { webhooksText as text } from "../../strings/webhooks.ts";
import { Said } from "../../parts/said.tsx";

export function Webhooks(): JSX.Element {
  const { value, problem, refresh } = useLive<{ webhooks: WebhookReport[] }>("/v1/webhooks", {
    ms: 15_000,
    andOn: ["webhook."],
  });
  return (
    <>
      <Panel title={text.title} hint={text.hint}>
        <ProblemNotice problem={problem} what={text.failed} />
        {value === undefined && problem === undefined && <Waiting what={text.reading} />}
        {value?.webhooks.length === 0 && <Empty command={text.example}>{text.none}</Empty>}
        {value !== undefined && value.webhooks.length > 0 && (
          <Table
            label={text.title}
            rows={value.webhooks}
            keyOf={({ name }) => name}
            columns={[
              { label: columnsText.name, cell: ({ name }) => <b class="nowrap">{name}</b> },
              { label: text.address, cell: ({ url }) => <span class="mono change">{url}</span> },
              { label: text.events, cell: ({ events }) => events.join(", ") },
              { label: columnsText.state, cell: (webhook) => <State {...webhook} /> },
              { label: text.queued, kind: "number", cell: ({ pending }) => grouped(pending) },
              {
                label: text.last,
                kind: "tight",
                cell: ({ lastDelivery }) => lastDelivery && <Ago at={lastDelivery.createdAt} />,
              },
              {
                label: columnsText.act,
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
    return text.resumed(name);
  };
  const send = async (): Promise<string> => {
    const test = await ask<TestReport>(`${route}/test`, { method: "POST" });
    onChanged();
    if (!test.accepted) throw new Problem(200, text.testRefused(name, test.reason ?? test.status));
    return text.testAccepted(name);
  };
  return (
    <div class="actions">
      {state === "stopped" && (
        <Button
          isSmall
          {...{ isBusy }}
          refusal={refusal("operator")}
          label={text.resumeNamed(name)}
          onPress={() => act(resume)}
        >
          {text.resume}
        </Button>
      )}
      <Button
        isSmall
        {...{ isBusy }}
        refusal={refusal("operator")}
        label={text.testNamed(name)}
        onPress={() => act(send)}
      >
        {text.test}
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
    return text.sentAgain;
  };
  return (
    <Panel title={text.deliveries}>
      <ProblemNotice problem={pages.first.problem} />
      {pages.first.value !== undefined && pages.rows.length === 0 && <Empty>{text.noDeliveries}</Empty>}
      {pages.rows.length > 0 && (
        <Table
          label={text.deliveries}
          rows={pages.rows}
          keyOf={({ deliveryId }) => deliveryId}
          columns={[
            { label: columnsText.at, kind: "tight", cell: ({ createdAt }) => <Ago at={createdAt} /> },
            { label: text.webhook, cell: ({ webhook }) => webhook },
            { label: text.event, cell: ({ eventType }) => <span class="mono">{eventType}</span> },
            { label: columnsText.state, kind: "tight", cell: ({ state }) => <Badge state={state} /> },
            { label: text.attempts, kind: "number", cell: ({ attempts }) => grouped(attempts) },
            { label: text.lastResponse, cell: ({ lastStatus, lastReason }) => lastReason ?? lastStatus },
            {
              label: columnsText.act,
              kind: "act",
              cell: ({ deliveryId, state }) =>
                state === "failed" && (
                  <Button
                    isSmall
                    isBusy={isBusy}
                    refusal={refusal("operator")}
                    onPress={() => act(() => again(deliveryId))}
                  >
                    {text.sendAgain}
                  </Button>
                ),
            },
          ]}
        />
      )}
      <More pages={pages} what={text.older} />
    </Panel>
  );
}
