/** What other modules may use. */
export { auditHandlers } from './handlers.ts';
export { pruneAuditLog } from './prune.ts';
export { actorOf, type AuditRecord, nameOfActor, recordAudit, recordDone } from './record.ts';
