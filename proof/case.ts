/** What a case of the proof is: the lanes that it needs, and the fault that it plays on them again and again. */
import type { World } from './world.ts';

export interface Stage {
  readonly random: () => number;
  readonly isShort: boolean;
  /** Ends at once when the play is over, so that every fault is taken away again. */
  pause(ms: number): Promise<void>;
  /** Pauses until something is so. False when it was not so within that time. */
  pauseUntil(isSo: () => Promise<boolean>, ms: number): Promise<boolean>;
  /** Says which fault is played. */
  note(fault: string): void;
}

/** Plays one fault, and takes it away again. */
export type Play = (stage: Stage) => Promise<void>;

export interface Requirements {
  isShort: boolean;
  /** An empty PostgreSQL database; null without one. */
  databaseUrl: string | null;
}

/** What a world is made of that has one case alone. */
export interface OwnWorld {
  /** Settings of the control plane. */
  settings: Record<string, string>;
}

export interface ProofCase {
  readonly name: string;
  /** What it plays, for the report. */
  readonly plays: string;
  /** Why it cannot run here; null where it can. */
  readonly missing?: (requirements: Requirements) => string | null;
  /** A case that disturbs all lanes alike has a world of its own. */
  readonly prepareWorld?: (folder: string, requirements: Requirements) => OwnWorld;
  /** Makes its lanes. */
  readonly join: (world: World) => Promise<Play>;
}

/** Between two bounds, short ones more often than long ones. */
export const between = (random: () => number, shortest: number, longest: number): number =>
  shortest * (longest / shortest) ** random();

export function pick<T>(random: () => number, from: readonly T[]): T {
  const picked = from[Math.floor(random() * from.length)];
  if (picked === undefined) throw new Error('there is nothing to pick from');
  return picked;
}
