/** The types of what a command is given: its process, its options, and how it calls routes. */
import type { App } from "#kernel/app.ts";
import type { AnyAppFeature } from "#kernel/feature.ts";
import type { Client } from "#contract/client.ts";
import type { CommandEffect, StoreUse } from "./command-effects.ts";
import type { EventChoice, EventSource } from "./event-source.ts";
import type { TextSink } from "./output.ts";

/** The process environment of a command, passed in by the entry point. */
export interface ProcessIo {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: NodeJS.ReadStream;
  /** Aborts at the first Ctrl-C or TERM. */
  readonly interrupt: AbortSignal;
  /** Sets the exit code of the process. */
  setExitCode(code: number): void;
}

/** Options that every command has. */
export interface CommonOptions {
  readonly config?: string | undefined;
  readonly profile?: string | undefined;
  readonly json?: boolean | undefined;
  readonly server?: string | undefined;
}

/** How a command calls routes. */
export interface Caller {
  readonly client: Client;
  /** The account that the command is about; undefined: the worker's default. */
  readonly profile: string | undefined;
  /** Absent with a remote worker, which then does the work. */
  readonly app: App | undefined;
  /** The event feed. @param say reports a lost connection */
  readonly eventSource: (selection: EventChoice, say: (text: string) => void) => EventSource;
}

/** The command that is given, as the audit names it. */
export interface GivenCommand {
  /** `runs cancel` */
  readonly name: string;
  readonly effect: CommandEffect;
  readonly store: StoreUse;
  /** The kind under which the audit log has it. */
  readonly kind: string;
  /** Its first argument, or the filters that it names instead; empty where it has neither. */
  readonly target: string;
}

/** What opening the app or calling a worker takes. */
export interface CommandContext {
  readonly io: ProcessIo;
  /** Those whose commands call their routes in this process. */
  readonly features: readonly AnyAppFeature[];
  readonly actor: string;
  readonly command: GivenCommand | undefined;
}
