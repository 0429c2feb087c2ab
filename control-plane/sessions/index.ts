/** What other modules may use. */
export { dropCancelledJobs, sessionsOfChecks } from './check-sessions.ts';
export { checkSessionHandlers } from './check-sessions/handlers.ts';
export { checkTrialHandlers } from './check-trials/handlers.ts';
export { forgetTrials } from './check-trials/forget-trials.ts';
export { checkTriggerHandlers } from './check-triggers/handlers.ts';
export { deploymentTriggerHandlers } from './deployment-triggers/handlers.ts';
export { forgetSessions } from './forget-sessions.ts';
export { awaitTestSession } from './test-sessions/await-test-session.ts';
export { cancelTestSession } from './test-sessions/cancel-test-session.ts';
export { forgetTestSessions } from './test-sessions/forget-test-sessions.ts';
export {
  errorGroupsOfResults,
  listTestSessions,
  outcomesOfTestSessions,
} from './test-sessions/list-test-sessions.ts';
export {
  createReportedSession,
  finishReportedResult,
  keepReport,
  type Report,
  type ReportedEnding,
  reportOf,
} from './test-sessions/reported-session.ts';
export { settleTestSession, settleTestSessions } from './test-sessions/settle.ts';
export {
  type NewTestJob,
  type NewTestSession,
  openTestSession,
  startTestSession,
  type StartedTestSession,
} from './test-sessions/start-test-session.ts';
export { storeTestLogs } from './test-sessions/store-test-logs.ts';
export {
  findTestResult,
  findTestSession,
  resultsOfTestSession,
  statesOfRuns,
  statusOfOutcome,
  type TestResultRow,
  type TestRunState,
  type TestSessionRow,
} from './test-sessions/store.ts';
export { findTriggeredChecks, type TriggerTarget } from './triggered-checks.ts';
