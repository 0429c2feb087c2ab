/** What the command and the processes that play say to each other. */
import type { Event } from './events.ts';

/** An installation of a given size: so many agents in one location, and checks that run so often. */
export interface Size {
  agents: number;
  checks: number;
  everySeconds: number;
}

export interface Story {
  seed: number;
  /** Only these; null for all. */
  cases: readonly string[] | null;
  /** In place of those that the seed draws. */
  events: Event[] | null;
}

export interface Order {
  /** Null where it follows from the seed. */
  size: Size | null;
  folder: string;
  stories: Story[];
  minutes: number;
  /** The timeline is wanted also where all is well. */
  hasTimeline: boolean;
}

export interface Outcome {
  seed: number;
  cases: readonly string[] | null;
  hash: string;
  /** What was wrong. */
  wrong: string[];
  events: Event[];
  situations: Record<string, number>;
  timeline: string[];
  traced: number;
  virtualMs: number;
  cpuMs: number;
}
