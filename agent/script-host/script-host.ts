/**
 * Where code of customers runs: a process of its own for each run, in a folder of its own, with an
 * environment that is given explicitly. Whatever it starts ends with it.
 */
import type { FileHandle } from 'node:fs/promises';
import type { CpuWaits } from './cpu-waits.ts';
import type { AllowedClient } from '../net/gateway/allowed-clients.ts';

/** Ceilings of one run; reaching one ends it with a named reason. */
export interface ScriptLimits {
  /** Resident memory of all its processes together. */
  readonly memoryBytes: number;
  /** What its folder may hold. */
  readonly diskBytes: number;
  readonly files: number;
  readonly processes: number;
  /** Standard output and error together; what is beyond is dropped. */
  readonly outputBytes: number;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** All of it: nothing is inherited. PATH, HOME, TMPDIR, LANG and TZ=UTC are added where absent. */
  readonly environment: Readonly<Record<string, string>>;
  /** Relative to the folder of the workspace, which is the default. */
  readonly cwd?: string;
  readonly timeoutMs: number;
  /** Aborting it ends the program. */
  readonly signal: AbortSignal;
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  /** JSON lines that the program writes to descriptor 3. Not trusted: parse them. */
  readonly onMessage?: (message: unknown) => void;
}

/** A program with everything in its place: absolute folder, whole environment. */
export type Order = Pick<Program, 'command' | 'args' | 'environment' | 'timeoutMs'> & {
  readonly cwd: string;
  readonly waits: CpuWaits;
};

export interface ProgramEnd {
  readonly reason:
    | 'exit'
    | 'timeout'
    | 'cancelled'
    | 'memory'
    /** The kernel ended something for want of memory, before a limit of the run was reached. */
    | 'machine-memory'
    | 'disk'
    | 'processes'
    /** It could not be started. */
    | 'not-started';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
  readonly peakMemoryBytes: number;
  /** The last part of what it wrote. */
  readonly stdout: string;
  readonly stderr: string;
  readonly isOutputTruncated: boolean;
  /** For people: "used more than 2.7 GiB of memory"; null for an exit. */
  readonly explanation: string | null;
}

export interface RunningProgram {
  /** The process that all of its processes descend from; null when there is none. */
  readonly pid: number | null;
  /** Never rejects. Everything the program started is gone when it resolves. */
  readonly done: Promise<ProgramEnd>;
  /** A JSON line on descriptor 4 of the program. */
  send(message: unknown): void;
  /** Stops every process of the program where it is; resolves with how many there are, or with null. */
  hold(): Promise<number | null>;
  /** Lets the processes that are held go on. */
  resume(): void;
}

export interface Workspace extends AsyncDisposable {
  /** Absolute; the run may write here and nowhere else. Gone when disposed. */
  readonly folder: string;
  /** How it is kept apart: by a user of its own, by namespaces, or by process groups alone. */
  readonly isolation: 'user' | 'namespaces' | 'process-group';
  /** By what the kernel knows the processes in it, for the gateway to let them in. */
  readonly allowedClient: AllowedClient;
  /** Writes a file for the run to read; folders on the way are made. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /**
   * Opens a file that the run wrote; the caller closes it. Null when it is missing or no plain file of
   * the run: a link that it made could lead to what only the agent may read. Never open such files by
   * path.
   */
  read(path: string): Promise<FileHandle | null>;
  start(program: Program): RunningProgram;
  /** When its processes waited for a CPU. */
  readonly waits: CpuWaits;
  /** Deletes all that was written to it. Only while what runs in it is held: it must not write meanwhile. */
  clear(): Promise<void>;
}

export interface ScriptHost {
  /** Throws SCRIPTING_UNAVAILABLE when no workspace can be made. */
  open(limits?: Partial<ScriptLimits>): Promise<Workspace>;
}
