/** `simfleet tickets …` */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCaller } from "#cli/context.ts";
import { listCommand, listOf } from "#cli/list.ts";
import { type TicketReport, answerTicket, closeTicket, listTickets, openTicket } from "./contract.ts";

export function ticketsCommand(context: Context): Command {
  return new Command("tickets")
    .addCommand(listCommand(context, "tickets", ticketList, "List the current ticket of each queue"), {
      isDefault: true,
    })
    .addCommand(openCommand(context))
    .addCommand(moveCommand(context, "answer", answerTicket))
    .addCommand(moveCommand(context, "close", closeTicket));
}

function openCommand(context: Context): Command {
  const command = new Command("open")
    .description("Open a ticket")
    .argument("<queue>", "name of the queue")
    .argument("<subject>", "what it is about");
  const example = "simfleet tickets open support late";
  return withCaller(context, command, example, async ({ client, output }, queue, subject) => {
    output.answer(await client.call(openTicket, { params: { queue }, body: { subject } }), textOf);
  });
}

function moveCommand(context: Context, name: "answer" | "close", route: typeof answerTicket | typeof closeTicket) {
  const command = new Command(name)
    .description(name === "answer" ? "Answer a ticket" : "Close an answered ticket")
    .argument("<queue>", "name of the queue");
  return withCaller(context, command, `simfleet tickets ${name} support`, async ({ client, output }, queue) => {
    output.answer(await client.call(route, { params: { queue } }), textOf);
  });
}

function textOf({ queue, state, subject, openedBy }: TicketReport): string {
  return `${queue}: ${subject} (${state}, opened by ${openedBy})`;
}

const ticketList = listOf("tickets", listTickets, {
  empty: "No queue has a ticket. Open one with: simfleet tickets open QUEUE SUBJECT",
  columns: [{ name: "queue" }, { name: "state" }, { name: "subject" }, { name: "openedBy", heading: "opened by" }],
});
