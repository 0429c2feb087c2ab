/** What other modules may use. */
export { type Changed, changesBetween, deploymentsBetween } from './changes-between.ts';
export { auditHandlers } from './handlers.ts';
export { pruneAuditLog } from './prune.ts';
export { actorOf, type AuditRecord, nameOfActor, recordAudit, recordDone } from './record.ts';
