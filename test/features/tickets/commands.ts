/** `simfleet tickets …` */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCommon } from "#cli/context.ts";
import { type TicketReport, answerTicket, closeTicket, listTickets, openTicket } from "./contract.ts";

export function ticketsCommand(context: Context): Command {
  return new Command("tickets")
    .addCommand(listCommand(context))
    .addCommand(openCommand(context))
    .addCommand(moveCommand(context, "answer", answerTicket))
    .addCommand(moveCommand(context, "close", closeTicket));
}

function listCommand(context: Context): Command {
  return withCommon(new Command("list").description("list tickets"), "simfleet tickets list").action(
    async (options) => {
      const { tickets } = await context.connect(options, ({ client }) => client.call(listTickets));
      context.output(options).answer({ tickets }, (shown) => shown.tickets.map(textOf).join("\n"));
    },
  );
}

function openCommand(context: Context): Command {
  const command = new Command("open").description("open a ticket").argument("<queue>").argument("<subject>");
  return withCommon(command, "simfleet tickets open support late").action(async (queue, subject, options) => {
    const ticket = await context.connect(options, ({ client }) =>
      client.call(openTicket, { params: { queue }, body: { subject } }),
    );
    context.output(options).answer(ticket, textOf);
  }) as unknown as Command;
}

function moveCommand(context: Context, name: string, route: typeof answerTicket | typeof closeTicket): Command {
  const command = new Command(name).description(`${name} a ticket`).argument("<queue>");
  return withCommon(command, `simfleet tickets ${name} support`).action(async (queue, options) => {
    const ticket = await context.connect(options, ({ client }) => client.call(route, { params: { queue } }));
    context.output(options).answer(ticket, textOf);
  }) as unknown as Command;
}

function textOf({ queue, state, subject, openedBy }: TicketReport): string {
  return `${queue}: ${subject} (${state}, opened by ${openedBy})`;
}
