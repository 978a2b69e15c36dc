/**
 * Renders events as text for a chat: what happened, to what, and what to do. Events without their own text are rendered as
 * their name and fields.
 */
import type { Event } from "../event.ts";

/** An event, or something similar that is not in the stream, such as a test. */
export type NoticeEvent = Pick<Event, "profile" | "atMs" | "fields"> & { readonly type: string };

type Fields = Readonly<Record<string, string>>;
type Words = (fields: Fields, profile: string) => string;

const words: Readonly<Record<string, Words>> = {
  "run.submitted": (f) => `${runName(f)} was submitted: ${rows(f["total"])}.`,
  "run.awaiting-approval": (f) =>
    `${runName(f)} (${rows(f["total"])}) is waiting for approval by someone else: simfleet runs approve ${f["run"]}`,
  "run.approved": (f) => `${runName(f)} was approved${by(f)}.`,
  "run.paused": (f) =>
    `${runName(f)} is paused${by(f)}${f["reason"] === `paused by ${f["by"]}` ? "" : because(f)}. Resume with: simfleet runs resume ${f["run"]}`,
  "run.resumed": (f) => `${runName(f)} was resumed${by(f)}.`,
  "run.stalled": (f) =>
    `${runName(f)} is not making progress${because(f)}: ${tally(f)}. simfleet retries automatically.`,
  "run.row-set-aside": (f) => `A row of ${runName(f)} was set aside${because(f)}. The other rows continue.`,
  "run.recovered": (f) => `${runName(f)} is making progress again: ${tally(f)}.`,
  "run.completed": (f) => `${runName(f)} completed: ${tally(f)}.`,
  "run.aborted": (f) => `${runName(f)} was aborted${because(f)}: ${tally(f)}.`,
  "run.cancelled": (f) => `${runName(f)} was cancelled${by(f)}: ${tally(f)}.`,
  "sync.completed": (f) =>
    `The inventory was synced: ${grouped(f["sims"])} SIMs, ${counts(f, ["added", "changed", "returned", "gone"], "nothing has changed")}.`,
  "sync.failed": (f) => `The inventory could not be synced${because(f)}.`,
  "sim.changed": (f) =>
    `SIM ${f["sim"]}: ${f["field"]} is ${value(f["after"])}, was ${value(f["before"])} (${origin(f)}).`,
  "sim.added": (f) => `SIM ${f["sim"]} is new.`,
  "sim.gone": (f) => `SIM ${f["sim"]} is no longer listed.`,
  "sim.returned": (f) => `SIM ${f["sim"]} is listed again.`,
  "credential.rotated": (f) => `The secret of ${f["rotation"]} was replaced: ${f["credentialsId"]} is in use.`,
  "credential.failed": (f) =>
    `The secret of ${f["rotation"]} could not be replaced${because(f)}. The old one stays in use.${leftover(f)}`,
  "credential.unconfirmed": (f) => `The rotation of ${f["rotation"]} is waiting for confirmation: ${f["reason"]}`,
  "credential.orphaned": (f) =>
    `The Credential Set ${f["credentialsId"]} is obsolete and must be deleted manually${because(f)}.`,
  "credential.expiring": (f) =>
    `The secret of ${f["rotation"]} is due for rotation: it has been in use since ${f["since"]}. Rotate it with: simfleet credentials rotate ${f["rotation"]}`,
  "credential.in-use": (f) => `The old Credential Set ${f["oldId"]} is still used, last at ${f["lastUsedAt"]}.`,
  "secret.kept": (f) =>
    `A changed credentials file cannot be loaded${because(f)}. ${f["worker"]} keeps the previous credentials.`,
  "authkey.refused": (f, profile) => `The platform rejected the AuthKey ${f["authKeyId"]} of ${profile}${because(f)}.`,
  "authkey.rotated": (f) => `The AuthKey ${f["authKeyId"]} is in use, and ${f["oldId"]} is revoked.`,
  "authkey.failed": (f) => `The AuthKey ${f["authKeyId"]} could not be replaced${because(f)}. It stays in use.`,
  "schedule.completed": (f) => `The schedule ${f["schedule"]} succeeded${because(f)}.`,
  "schedule.failed": (f) => `The schedule ${f["schedule"]} failed${because(f)}.`,
  "schedule.cancelled": (f) => `The task of the schedule ${f["schedule"]} was cancelled${because(f)}.`,
  "schedule.skipped": (f) => `The schedule ${f["schedule"]} was skipped this time${because(f)}.`,
  "schedule.missed": (f) =>
    `The schedule ${f["schedule"]} was due at ${f["due"]}, while no worker was running: it is ${f["madeUp"] === "yes" ? "run once now" : "skipped"}.`,
  "schedule.late": (f) => `The schedule ${f["schedule"]} was due at ${f["due"]} and started late.`,
  "schedule.paused": (f) => `The schedule ${f["schedule"]} is paused${by(f)}.`,
  "schedule.resumed": (f) => `The schedule ${f["schedule"]} was resumed${by(f)}.`,
  "file.taken": (f) => `The file ${f["file"]} was picked up from the drop folder: run ${f["run"]}.`,
  "file.done": (f) => `The file ${f["file"]} is done: run ${f["run"]}.`,
  "file.failed": (f) => `The file ${f["file"]} is not fully done${because(f)}: run ${f["run"]}.`,
  "file.refused": (f) => `The file ${f["file"]} was rejected${because(f)}.`,
  "freeze.started": (f) =>
    `All changes are frozen${by(f)}${because(f)}${filled(f["until"], (until) => ` until ${until}`)}.`,
  "freeze.ended": (f) => `The freeze was ended${by(f)}.`,
  "webhook.failed": (f) =>
    `A message about ${f["event"]} could not be delivered to ${f["webhook"]}${because(f)}. Send it again with: simfleet deliveries redeliver ${f["delivery"]}`,
  "webhook.stopped": (f) =>
    `${f["webhook"]} accepts no more messages${because(f)}. Resume with: simfleet webhooks resume ${f["webhook"]}`,
  "webhook.test": () => "This is a test message from simfleet.",
};

/** One line, or a few, without any markup. */
export function noticeOf(event: NoticeEvent): string {
  const { type, profile, fields } = event;
  const own = Object.hasOwn(words, type) ? words[type] : undefined;
  const text = own?.(fields, profile) ?? generic(event);
  return profile === "default" || profile === "" ? text : `[${profile}] ${text}`;
}

function generic({ type, fields }: NoticeEvent): string {
  const reported = Object.entries(fields).filter(([, text]) => text !== "");
  return [type, reported.map(([name, text]) => `${name} ${text}`).join(", ")].filter((part) => part !== "").join(": ");
}

function runName({ run, name }: Fields): string {
  return name === undefined || name === "" || name === run ? `Run ${run}` : `Run ${name} (${run})`;
}

function rows(count: string | undefined): string {
  return `${grouped(count)} ${count === "1" ? "row" : "rows"}`;
}

function tally(fields: Fields): string {
  const outcomes = counts(
    fields,
    ["done", "skipped", "rejected", "failed", "unknown", "cancelled"],
    "nothing was done",
  );
  return `${outcomes} of ${rows(fields["total"])}`;
}

function counts(fields: Fields, names: readonly string[], none: string): string {
  const reported = names.filter((name) => Number(fields[name] ?? 0) > 0);
  return reported.map((name) => `${grouped(fields[name])} ${name}`).join(", ") || none;
}

function by(fields: Fields): string {
  return filled(fields["by"], (who) => ` by ${who}`);
}

function because(fields: Fields): string {
  return filled(fields["reason"], (reason) => ` (${reason.replace(/\.$/, "")})`);
}

function leftover(fields: Fields): string {
  return filled(fields["sinks"], (sinks) => ` These have the new value already: ${sinks}.`);
}

function origin(fields: Fields): string {
  return fields["by"] === "run" ? `run ${fields["cause"]}` : "changed outside of simfleet";
}

function filled(text: string | undefined, sentence: (text: string) => string): string {
  return text === undefined || text === "" ? "" : sentence(text);
}

/** Decodes a field's value, which the stream stores with a prefix for its kind. */
function value(written: string | undefined): string {
  return written ?? "nothing";
}

function grouped(count: string | undefined): string {
  return Number(count ?? 0).toLocaleString("en-US");
}
