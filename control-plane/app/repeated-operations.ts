/** What the control plane does by itself, again and again: retention, schedules, alerts. */
import type { Config } from '../core/config.ts';
import type { Services } from '../core/services.ts';
import type { RepeatedOperation } from '../core/timers.ts';
import type { HeldDeletions } from '../deletions/index.ts';
import { pruneAuditLog } from '../audit/index.ts';
import { forgetChallenges, forgetLinks } from '../people/index.ts';
import {
  expireJobs,
  pruneArtifacts,
  type RecordLosses,
  renameFutureRuns,
  deleteResultsOfDeletedChecks,
  ResultPruning,
  sweepSlots,
} from '../results/index.ts';
import { type Deployments, pruneDeployments } from '../projects/index.ts';
import { pingWatcher, probeDisk } from '../integrity/index.ts';
import { freeStrandedRows, type Send } from '../notifications/index.ts';
import {
  announceDueUpdates,
  announceMaintenance,
  forgetUnconfirmed,
  openServiceIncidents,
  verifyDomains,
} from '../status-pages/index.ts';
import { openLateIncidents } from '../incidents/index.ts';
import { pruneMaintenance, writeNotices } from '../maintenance/index.ts';
import {
  pruneAgentReports,
  pruneJobLeases,
  pruneShards,
  sampleQueues,
} from '../scheduling/index.ts';
import { afterGracePeriod, noteAliveAndWritten, whileClockTrusted } from '../reception/index.ts';
import {
  healthTimers,
  pruneAlerts,
  evaluateDueAlerts,
  notifyOverrun,
  runEscalations,
  sendAlertGroups,
} from '../alerting/index.ts';
import { watchCertificates } from '../certificates/index.ts';
import { pruneHeartbeatEvents, sweepHeartbeats } from '../heartbeats/index.ts';
import {
  dropCancelledJobs,
  forgetSessions,
  forgetTestSessions,
  forgetTrials,
  settleTestSessions,
} from '../sessions/index.ts';
import { type CodeBundleStore, pruneCodeBundles } from '../checks/index.ts';
import { pruneRollUps, RollUp, setRawFrom } from '../analytics/index.ts';
import { compareChecks, reportVerdicts } from '../shadow/index.ts';
import { forgetConsoleSessions } from '../accounts/index.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

type Run = RepeatedOperation['run'];
/** Decides at each turn whether an operation may run. */
type Guard = (run: Run) => Run;

const operation =
  (on: RepeatedOperation['on']) =>
  (name: string, everyMs: number, run: Run, guard: Guard = (same) => same): RepeatedOperation => ({
    ...{ name, everyMs, on, run: guard(run) },
  });
const onAll = operation('all');
const onOne = operation('one');

interface OperationParts {
  services: Services;
  config: Config;
  databaseFile: string;
  losses: RecordLosses;
  codeBundles: CodeBundleStore;
  deletions: HeldDeletions;
  deployments: Deployments;
  /** To addresses of customers. */
  send: Send;
}

export function repeatedOperations(parts: OperationParts): RepeatedOperation[] {
  const { services, config, databaseFile, losses, codeBundles } = parts;
  const { deletions, deployments, send } = parts;
  const { clock, reception } = services;
  const watcher = config.HEARTBEAT_URL;
  const resultsKeptMs = config.RESULT_RETENTION_DAYS * dayMs;
  const keptMs = config.ARTIFACT_RETENTION_DAYS * dayMs;
  const rollUp = new RollUp(services);
  const resultPruning = new ResultPruning(services, resultsKeptMs, {
    setRawFrom,
    pruneEvents: pruneHeartbeatEvents,
  });
  const sumsKeptMs = config.ANALYTICS_RETENTION_DAYS * dayMs;
  const settled: Guard = (run) => afterGracePeriod(reception, run);
  const trusted: Guard = (run) => whileClockTrusted(reception, run);
  return [
    onAll('sweep-slots', 5_000, () => sweepSlots(services), settled),
    onAll('sweep-heartbeats', 1_000, () => sweepHeartbeats(services)),
    onAll('wake-alerts', 1_000, () => evaluateDueAlerts(services), settled),
    onAll('run-escalations', 1_000, () => runEscalations(services), settled),
    onAll('send-alert-groups', 1_000, () => sendAlertGroups(services)),
    onAll('note-alive', 5_000, () => noteAliveAndWritten(services)),
    onAll('probe-disk', 1_000, () => probeDisk(services, databaseFile)),
    ...(watcher === undefined
      ? []
      : [onOne('ping-watcher', minuteMs, () => pingWatcher(services, watcher))]),
    onAll('expire-jobs', 10_000, () => expireJobs(services), settled),
    onOne('rename-future-runs', minuteMs, () => renameFutureRuns(services)),
    onAll('keep-mark', minuteMs, () => losses.keep()),
    onOne('sample-queues', minuteMs, () => sampleQueues(services)),
    onOne('drop-cancelled-jobs', 10_000, () => dropCancelledJobs(services)),
    onAll('delete-results', 1_000, () => deleteResultsOfDeletedChecks(services)),
    onAll('roll-up', 2_000, () => rollUp.run()),
    onOne('prune-results', minuteMs, () => resultPruning.run(), trusted),
    onOne('prune-roll-ups', hourMs, () => pruneRollUps(services, sumsKeptMs), trusted),
    onOne('prune-artifacts', minuteMs, () => pruneArtifacts(services, keptMs), trusted),
    onOne('prune-alerts', minuteMs, () => pruneAlerts(services, resultsKeptMs), trusted),
    onOne('prune-code-bundles', hourMs, () => pruneCodeBundles(codeBundles, clock), trusted),
    onOne('sweep-deletions', 1_000, () => deletions.sweep()),
    onOne('verify-domains', minuteMs, () => verifyDomains(services)),
    onAll('abandon-deployments', 5_000, () => deployments.abandon()),
    onOne('prune-maintenance', hourMs, () => pruneMaintenance(services), trusted),
    onOne('prune-deployments', hourMs, () => pruneDeployments(services), trusted),
    onAll('announce-updates', 1_000, () => announceDueUpdates(services), trusted),
    onAll('write-notices', 1_000, () => writeNotices(services), trusted),
    onAll('announce-maintenance', 1_000, () => announceMaintenance(services), trusted),
    onOne('open-late-incidents', 10_000, () => openLateIncidents(services), trusted),
    onOne('open-service-incidents', 5_000, () => openServiceIncidents(services), trusted),
    onAll('notify-overrun', 1_000, () => notifyOverrun(services), trusted),
    onOne('forget-unconfirmed', hourMs, () => forgetUnconfirmed(services), trusted),
    ...healthTimers(services).map(({ name, everyMs, run }) => onOne(name, everyMs, run, settled)),
    onOne('free-stranded-rows', minuteMs, () => freeStrandedRows(services)),
    onAll('watch-certificates', minuteMs, () => watchCertificates(services), trusted),
    onOne('prune-agent-reports', hourMs, () => pruneAgentReports(services, resultsKeptMs), trusted),
    onOne('forget-sessions', hourMs, () => forgetSessions(services), trusted),
    onOne('settle-test-sessions', 1_000, () => settleTestSessions(services), settled),
    onOne('forget-test-sessions', 10 * minuteMs, () => forgetTestSessions(services), trusted),
    onOne('forget-trials', 10 * minuteMs, () => forgetTrials(services), trusted),
    onOne('prune-job-leases', hourMs, () => pruneJobLeases(services, resultsKeptMs), trusted),
    onOne('prune-shards', minuteMs, () => pruneShards(services), trusted),
    onOne('forget-console-sessions', hourMs, () => forgetConsoleSessions(services), trusted),
    onOne(
      'prune-audit-log',
      hourMs,
      () => pruneAuditLog(services, config.AUDIT_RETENTION_DAYS * dayMs),
      trusted,
    ),
    onOne(
      'compare-verdicts',
      minuteMs,
      async (stopping) => {
        // First: a turn takes minutes, and writes what is reported.
        await reportVerdicts(services);
        await compareChecks(services, send, stopping, resultsKeptMs);
      },
      trusted,
    ),
    onOne('forget-person-links', hourMs, () => forgetLinks(services), trusted),
    onOne('forget-challenges', hourMs, () => forgetChallenges(services), trusted),
  ];
}
