/** What other modules may use. */
export { pruneAgentReports, storeReports } from './agent-reports.ts';
export { CapabilityGaps } from './capability-gaps.ts';
export { channelsToRecover, channelsToNotify } from './channels-of-location.ts';
export { checkIn } from './check-in.ts';
export { needsOfChecks } from './check-needs.ts';
export { checksWaitingIn, type WaitingCheck } from './checks-of-location.ts';
export { agentsFor, type Needs, whyNobodyCan } from './decide/assignment.ts';
export { explainMissingResults, noResultsCode, missingAfterMs } from './decide/missing-results.ts';
export { overloadedCode, overloadedForMs, quietForMs } from './decide/overload.ts';
export {
  isRecordLost,
  missingSince,
  type RecordLoss,
  type StoredMark,
} from './decide/record-loss.ts';
export {
  accountAfterMs,
  accountedUntil,
  missedReasonOf,
  type Presence,
  slotsToAccountFor,
} from './decide/sweep.ts';
export { openIdKeys } from './id-keys.ts';
export { idleTimes } from './idle-times.ts';
export {
  createJobs,
  dropJob,
  dropOverdueJobs,
  dropWaitingJobs,
  type FinishedJob,
  finishJobs,
  type NewJob,
  overdueJobs,
  releaseJobs,
  renewLeases,
  requestCancellation,
} from './jobs.ts';
export { ControlPlaneWatches } from './control-plane-watch.ts';
export { LocationHub } from './location-hub.ts';
export { locationHandlers } from './locations/handlers.ts';
export { moveSchedule } from './move-schedule.ts';
export { cancelOpenRuns, recordOpenRuns } from './open-runs.ts';
export { openRunHandlers } from './open-runs/handlers.ts';
export { noStand, standsOf } from './location-stands.ts';
export { keyOfPlace } from './serving-agents.ts';
export { loadOf, type Overload, overloadOf, overloadsByLocation } from './overload.ts';
export { keyOfMachine, machineSlug } from './private-locations/machine-location.ts';
export { encryptsResults } from './private-locations/store.ts';
export { privateLocationHandlers, privateLocationsOf } from './private-locations/handlers.ts';
export { schedulePreviewHandlers } from './preview-schedule.ts';
export { pruneJobLeases } from './prune-job-leases.ts';
export { RetryLocations } from './reschedule-retry.ts';
export { endSharedRuns, finishShard, pruneShards, shareRun } from './run-shards.ts';
export { RunSignals } from './run-signals.ts';
export { sampleQueues } from './sample-queues.ts';
export { markSwept, newsOfChecks, notifyAgents, scheduleOfChecks } from './schedule-check.ts';
export { staticIpHandlers } from './static-ips/handlers.ts';
