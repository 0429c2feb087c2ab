/**
 * What other modules do when a check is created, changed or deleted, in the same transaction.
 * `compose.ts` registers the consumers; they are called in that order.
 */
import type { AfterCommit } from '../db/after-commit.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import type { CheckFields, CheckRow } from './store.ts';

export interface SavedCheck {
  row: CheckRow;
  /** The fields of the check with the settings of its group. */
  effective: CheckFields;
}

/** Without `runsLater` it runs at once. */
export interface CreatedCheck extends SavedCheck {
  runsLater?: boolean;
}

export interface ChangedCheck extends SavedCheck {
  /** The effective fields before the change. */
  before: CheckFields;
}

type Consume<C> = (services: Services, db: Db, check: C) => Promise<AfterCommit>;

export interface CheckConsumer {
  created?: Consume<CreatedCheck>;
  changed?: Consume<ChangedCheck>;
  /** The row still exists when this is called. */
  deleted?: Consume<SavedCheck>;
}

type Occasion = keyof CheckConsumer;
type CheckOf<O extends Occasion> = Parameters<NonNullable<CheckConsumer[O]>>[2];

/** True for a change that deactivates the check. */
export function isDeactivated({ before, effective }: ChangedCheck): boolean {
  return before.activated && !effective.activated;
}

/** Calls every consumer. The returned functions must run after the commit. */
export async function publishCheck<O extends Occasion>(
  services: Services,
  db: Db,
  occasion: O,
  check: CheckOf<O>,
): Promise<AfterCommit[]> {
  const steps: AfterCommit[] = [];
  for (const consumer of services.checkConsumers) {
    const consume = consumer[occasion] as Consume<CheckOf<O>> | undefined;
    if (consume !== undefined) steps.push(await consume(services, db, check));
  }
  return steps;
}
