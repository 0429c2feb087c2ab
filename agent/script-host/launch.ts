/** What starting a program gives, whichever way it is started. */
import type { Readable, Writable } from 'node:stream';
import type { Program, ProgramEnd } from './script-host.ts';

export type Ending = Pick<
  ProgramEnd,
  'reason' | 'exitCode' | 'signal' | 'peakMemoryBytes' | 'explanation'
>;

export interface Launched {
  /** The process that all of it descends from; null when it could not be started. */
  readonly pid: number | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Messages of the program. */
  readonly messages: Readable;
  /** Messages to the program. */
  readonly commands: Writable;
  /** Never rejects; everything the program started is gone by then. */
  readonly ended: Promise<Ending>;
  /** Ends the program because it was cancelled. */
  cancel(): void;
}

/** A program with everything in its place: absolute folder, whole environment. */
export type Order = Pick<Program, 'command' | 'args' | 'environment' | 'timeoutMs'> & {
  readonly cwd: string;
};

export function notStarted(explanation: string): Ending {
  return { reason: 'not-started', exitCode: null, signal: null, peakMemoryBytes: 0, explanation };
}

export function explainTimeout(timeoutMs: number): string {
  return `did not end within ${timeoutMs / 1000} seconds`;
}
