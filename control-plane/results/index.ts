/** What other modules may use. */
export { agentArtifactHandlers, artifactHandlers } from './artifacts/handlers.ts';
export { openFileOfResult } from './artifacts/open-file.ts';
export { listArtifacts } from './artifacts/store.ts';
export { ArtifactLinks } from './artifacts/links.ts';
export { openArtifactStore } from './artifacts/open-artifact-store.ts';
export { resolveReferences } from './artifacts/resolve-references.ts';
export { baselineHandlers } from './baselines/handlers.ts';
export { checkOverviewHandlers, type FiguresOfChecks } from './check-overview/handlers.ts';
export { recentRunsOf, statesOfChecks } from './check-overview/store.ts';
export { checkResultHandlers } from './check-results/handlers.ts';
export { findResult as findCheckResult } from './check-results/store.ts';
export { checkStatusHandlers } from './check-statuses/handlers.ts';
export type { ListedFigures } from './decide/check-list.ts';
export { readableResult } from './decide/readable-result.ts';
export { endCancelledRun } from './end-run.ts';
export { groupsOfResult, storeAnalysis, toAnalysis } from './error-groups/analyses.ts';
export { errorGroupHandlers, presentErrorGroups } from './error-groups/handlers.ts';
export { expireJobs } from './expire-jobs.ts';
export { ResultIntake } from './ingest-results.ts';
export { moveRuns } from './move-runs.ts';
export { joinPayloads, payloadColumn } from './payload-columns.ts';
export { ownedObjects } from './owned-objects.ts';
export { type PastOutcome, pastOutcomes } from './past-outcomes.ts';
export { pruneArtifacts } from './prune-artifacts.ts';
export { deleteResultsOfDeletedChecks, isOfCheck, isOfPresentCheck } from './delete-results.ts';
export { olderThan, ResultPruning } from './prune-results.ts';
export { recordInternalError } from './record-internal-error.ts';
export { RecordLosses } from './record-losses.ts';
export { renameFutureRuns } from './rename-future-runs.ts';
export {
  type CertificateConsumer,
  type InternalError,
  publishResults,
  type ResultConsumer,
  type RunEnding,
} from './result-consumer.ts';
export { storeFinal } from './result-rows.ts';
export { type Occasion, takeFromInbox, waitingOfShard, waitingShards } from './roll-up-inbox.ts';
export { lastPassOf, type RunOfMinute, runsAround } from './runs-of-minute.ts';
export type { RunVerdict } from './run-verdict.ts';
export { StatusCache, statusesOfChecks } from './status-cache.ts';
export { sweepSlots } from './sweep-slots.ts';
export {
  hasResult,
  isKnown,
  statusUpdate,
  writeCertificateDays,
  writeStatuses,
} from './update-status.ts';
export { errorOfDetails, findVerdict } from './verdict-of-result.ts';
