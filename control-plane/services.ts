import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Database } from './db/tables.ts';
import type { LocationHub } from './location-hub.ts';

/** What operations and handlers are given. Built once, in `compose.ts`. */
export interface Services {
  db: Kysely<Database>;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  newId: () => string;
  hub: LocationHub;
  logger: Logger;
  /** Where this control plane is reached from outside, without a slash at the end. */
  publicUrl: string;
}
