import { type AuditRecord, recordAudit } from '../../audit/index.ts';
import type { Installation } from './installation.ts';

/** What an operator did at the command line, in the audit log of the account. */
export function noteOperator(
  installation: Installation,
  accountId: string,
  record: Pick<AuditRecord, 'operation' | 'resource' | 'before' | 'after'>,
): Promise<void> {
  const actor = { kind: 'OPERATOR' as const, name: 'operator at the command line' };
  return recordAudit(installation, {
    ...record,
    ...{ accountId, actor, address: null, outcome: 'DONE' },
  });
}
