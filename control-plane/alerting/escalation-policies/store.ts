/** Escalation policies: rows ↔ wire. */
import type { z } from 'zod';
import type { escalationPolicy } from '@monitor/shared/contract/escalation-policy.ts';
import { fromJson, stampsOf, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import type { PolicyFields } from '../decide/escalation.ts';
import { nextOnCall, onCallAt } from '../decide/rotation.ts';

export type PolicyRow = RowOf<'escalation_policies'>;

export function fieldsOfPolicy(row: PolicyRow): PolicyFields {
  return { ...fromJson<Omit<PolicyFields, 'name'>>(row.body_json), name: row.name };
}

export function findPolicy(db: Db, accountId: string, id: string): Promise<PolicyRow | undefined> {
  return ownRows(db, 'escalation_policies', accountId).where('id', '=', id).executeTakeFirst();
}

export function policyToWire(
  row: PolicyRow,
  now: number,
): Omit<z.input<typeof escalationPolicy>, 'usedBy'> {
  const fields = fieldsOfPolicy(row);
  const { rotation } = fields;
  const person = rotation && onCallAt(rotation, now);
  const next = rotation && nextOnCall(rotation, now);
  return {
    id: row.id,
    ...fields,
    onCall:
      rotation === null
        ? null
        : {
            now: person === null ? null : { person, until: toTimestampOrNull(next?.from ?? null) },
            next: next && { person: next.person, from: toTimestamp(next.from) },
          },
    ...stampsOf(row),
  };
}
