/** Test sessions: started, waited for, read and cancelled. */
import type { z } from 'zod';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { noDetails } from '@monitor/shared/contract/check-result.ts';
import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';
import type { testSession, testSessionRoutes } from '@monitor/shared/contract/test-session.ts';
import { actorOf, nameOfActor } from '../../audit/index.ts';
import { accountVariables, fieldsOf, groupsOf } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { fromFlag, toFlag, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { ApiError, invalidField, notFound } from '../../errors/api-error.ts';
import { isExistingClient, type ApiPrincipal } from '../../http/authenticate.ts';
import type { CallContext } from '../../http/call-context.ts';
import type { Handlers } from '../../http/handlers.ts';
import { linkToResult, linkToTestSession } from '../../notifications/index.ts';
import { artifactHandlers, findCheckResult, readableResult } from '../../results/index.ts';
import {
  awaitTestSession,
  cancelTestSession,
  errorGroupsOfResults,
  findTestResult,
  findTestSession,
  findTriggeredChecks,
  listTestSessions,
  type NewTestJob,
  type NewTestSession,
  openTestSession,
  outcomesOfTestSessions,
  type Report,
  reportOf,
  resultsOfTestSession,
  settleTestSession,
  startTestSession,
  type StartedTestSession,
  statusOfOutcome,
  type TestResultRow,
  type TestSessionRow,
  type TriggerTarget,
} from '../../sessions/index.ts';
import { testErrorGroupHandlers } from './error-groups.ts';
import { originOf, type Origin } from './origin.ts';
import { jobOfClient, jobOfStored, type Overrides } from './read-jobs.ts';
import { linkToReport, reportFile } from './report-link.ts';

type Wire = z.input<typeof testSession>;
type ResultWire = z.input<typeof testSessionRoutes.getTestSessionResult.response>;
type ReportedAsset = z.input<
  typeof testSessionRoutes.listTestSessionResultAssets.response
>['assets'][number];
type RunLocation =
  string | { type: 'PUBLIC'; region: string } | { type: 'PRIVATE'; slugName: string };

function codeOf(location: RunLocation): string {
  if (typeof location === 'string') return location;
  return location.type === 'PUBLIC' ? location.region : location.slugName;
}

/** Entries of ids by the names that the client knows. */
function idsBy(
  results: readonly TestResultRow[],
  nameOf: (row: TestResultRow) => string | null,
  idOf: (row: TestResultRow) => string,
): Record<string, string> {
  return Object.fromEntries(results.map((row) => [nameOf(row) ?? row.id, idOf(row)]));
}

function metadataOf(row: TestSessionRow): Wire['metadata'] {
  const given = {
    environment: row.environment,
    repoUrl: row.repo_url,
    commitId: row.commit_id,
    commitOwner: row.commit_owner,
    commitMessage: row.commit_message,
    branchName: row.branch_name,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}

/** Where people see a result: with all that its run has recorded, where there was one. */
function linkToTestResult(publicUrl: string, row: TestResultRow): string {
  return row.trial_id === null || row.result_id === null
    ? linkToTestSession(publicUrl, row.session_id)
    : linkToResult(publicUrl, row.trial_id, row.result_id);
}

type All = Handlers<typeof testSessionRoutes>;

/** How sessions and results are found and shown. */
function openReading(services: Services) {
  const { clock, db, publicUrl } = services;

  const get = async ({ accountId }: ApiPrincipal, id: string): Promise<TestSessionRow> => {
    const row = await findTestSession(db, accountId, id);
    if (row === undefined) throw notFound('test session', id);
    return row;
  };

  /** As it is now, and not when somebody last asked. */
  const getSettled = async (principal: ApiPrincipal, id: string): Promise<TestSessionRow> => {
    const row = await get(principal, id);
    const ended = await settleTestSession(services, row);
    return ended.length === 0 ? row : get(principal, id);
  };

  const getResult = async (
    principal: ApiPrincipal,
    { testSessionId, testResultId }: { testSessionId: string; testResultId: string },
  ): Promise<TestResultRow> => {
    await getSettled(principal, testSessionId);
    const row = await findTestResult(db, principal.accountId, testSessionId, testResultId);
    if (row === undefined) throw notFound('test result', testResultId);
    return row;
  };

  const reportUrlOf = (row: TestResultRow): string | null =>
    (reportOf(row)?.key ?? null) === null
      ? null
      : linkToReport(services.links, publicUrl, row.id, clock.now());

  const toWire = async (session: TestSessionRow): Promise<Wire> => {
    const rows = await resultsOfTestSession(db, session.id);
    const groups = await errorGroupsOfResults(
      db,
      rows.flatMap((row) => row.result_id ?? []),
    );
    const groupsOfRow = (row: TestResultRow) => groups.get(row.result_id ?? '') ?? [];
    return {
      testSessionId: session.id,
      testSessionLink: linkToTestSession(publicUrl, session.id),
      name: session.name,
      provider: session.provider,
      status: session.status,
      startedAt: toTimestamp(session.started_at),
      stoppedAt: toTimestampOrNull(session.stopped_at),
      timeElapsed: Math.max(0, (session.stopped_at ?? clock.now()) - session.started_at),
      metadata: metadataOf(session),
      errorGroupIds: [...new Set(rows.flatMap(groupsOfRow))],
      results: rows.map((row) => ({
        testSessionResultId: row.id,
        testSessionResultLink: linkToTestResult(publicUrl, row),
        checkId: row.check_id,
        checkType: row.check_type,
        name: row.name,
        runLocation: row.location,
        resultType: row.outcome === null ? null : 'FINAL',
        status: statusOfOutcome(row.outcome),
        hasErrors: fromFlag(row.has_errors),
        hasFailures: fromFlag(row.has_failures),
        isDegraded: fromFlag(row.is_degraded),
        aborted: row.outcome === 'CANCELLED',
        responseTime: row.response_time_ms,
        startedAt: toTimestampOrNull(row.started_at),
        stoppedAt: toTimestampOrNull(row.stopped_at),
        error: row.error,
        reportUrl: reportUrlOf(row),
        errorGroupIds: groupsOfRow(row),
      })),
    };
  };

  return { get, getSettled, getResult, reportUrlOf, toWire };
}
type Reading = ReturnType<typeof openReading>;

/** The location with this code, or 400. */
async function placeOf(
  db: Services['db'],
  accountId: string,
  given: RunLocation,
): Promise<Pick<NewTestSession, 'location' | 'private_location_id'>> {
  const location = codeOf(given);
  if (Object.hasOwn(dataCenterLocations, location)) return { location, private_location_id: null };
  const row = await db
    .selectFrom('private_locations')
    .select('id')
    .where('account_id', '=', accountId)
    .where('slug_name', '=', location)
    .executeTakeFirstOrThrow(() => invalidField('runLocation', `has no location "${location}"`));
  return { location, private_location_id: row.id };
}

const noMatch = 'no activated check that runs in a location matches';

/** How sessions begin: with jobs of a client, or with copies of stored checks. */
function openStarting(services: Services) {
  const { clock, db } = services;

  const begin = async (
    { principal, signal }: CallContext<ApiPrincipal>,
    {
      body,
      ...given
    }: Pick<NewTestSession, 'suite_id' | 'provider' | 'project' | 'streams_logs'> & {
      body: Origin & { name: string; shouldRecord: boolean; runLocation: RunLocation };
    },
    jobs: readonly NewTestJob[],
  ): Promise<StartedTestSession> => {
    const { accountId } = principal;
    const started = await startTestSession(
      services,
      {
        ...given,
        ...(await placeOf(db, accountId, body.runLocation)),
        account_id: accountId,
        name: body.name,
        invoked_by: principal.keyId,
        invoker_name: await nameOfActor(db, actorOf(principal), clock.now()),
        ...originOf(body),
        is_recorded: toFlag(body.shouldRecord),
      },
      jobs,
    );
    // The call ends with its answer, or with a client that left without it.
    signal.addEventListener(
      'abort',
      () => {
        openTestSession(services, started.session.id).catch((error: unknown) => {
          services.logger.warn({ err: error }, 'results of a test session are sent late');
        });
      },
      { once: true },
    );
    return started;
  };

  /** Copies of stored checks; null where none matches. */
  const beginStored = async (
    context: CallContext<ApiPrincipal>,
    target: TriggerTarget,
    { variables, retryStrategy }: Pick<Overrides, 'variables' | 'retryStrategy'>,
    body: Origin & { name: string; shouldRecord: boolean; runLocation: RunLocation },
    suiteId: string | null,
  ) => {
    const { accountId } = context.principal;
    const rows = await findTriggeredChecks(db, accountId, target);
    if (rows.length === 0) return null;
    const groups = await groupsOf(db, accountId, rows);
    const secretKeys = new Set(
      (await accountVariables(db, accountId)).flatMap(({ key, secret }) => (secret ? [key] : [])),
    );
    const jobs = rows.map((row) =>
      jobOfStored(services, row, groups, { variables, secretKeys, retryStrategy }),
    );
    const ofTrigger = { provider: 'TRIGGER', project: null, streams_logs: 0 } as const;
    return { rows, ...(await begin(context, { body, suite_id: suiteId, ...ofTrigger }, jobs)) };
  };

  return { begin, beginStored };
}

function startHandlers(
  services: Services,
  { toWire }: Reading,
): Pick<All, 'runTestSession' | 'triggerTestSession' | 'createTestSession'> {
  const { begin, beginStored } = openStarting(services);
  return {
    runTestSession: async ({ body }, context) => {
      const { accountId } = context.principal;
      const jobs = body.checkRunJobs.map((job, index) =>
        jobOfClient(services, accountId, job, {
          ...{ index, sharedFiles: body.sharedFiles ?? [], ignored: context.ignored },
        }),
      );
      const [first] = body.checkRunJobs;
      const { session, results } = await begin(
        context,
        {
          body,
          suite_id: first?.sourceInfo.checkRunSuiteId ?? null,
          provider: 'API',
          project: body.project?.logicalId ?? null,
          streams_logs: toFlag(body.streamLogs),
        },
        jobs,
      );
      return {
        schedulingId: session.id,
        ...(body.shouldRecord ? { testSessionId: session.id } : {}),
        testResultIds: body.shouldRecord ? idsBy(results, byLogicalId, (row) => row.id) : {},
        sequenceIds: idsBy(results, byLogicalId, (row) => row.run_id),
      };
    },

    createTestSession: async ({ body }, context) => {
      const { environment, ...repository } = body.metadata;
      const { target, environmentVariables: variables, retryStrategy } = body;
      const { name, runLocation } = body;
      const started = await beginStored(
        context,
        target,
        { variables, retryStrategy },
        { name, runLocation, shouldRecord: true, environment, repoInfo: repository },
        null,
      );
      if (started === null) throw new ApiError('NOT_FOUND', noMatch);
      return toWire(started.session);
    },

    triggerTestSession: async ({ body }, context) => {
      const { environmentVariables: variables, testRetryStrategy: retryStrategy } = body;
      const target = {
        ...(body.targetTags.length === 0 ? {} : { matchTags: body.targetTags }),
        ...(body.checkId === null ? {} : { checkId: body.checkId }),
      };
      const started = await beginStored(
        context,
        target,
        { variables, retryStrategy },
        body,
        body.checkRunSuiteId ?? null,
      );
      if (started === null) {
        throw new ApiError(
          'FORBIDDEN',
          noMatch,
          { source: 'payload', keys: ['targetTags', 'checkId'] },
          { errorCode: 'ERR_NO_MATCHING_CHECKS' },
        );
      }
      const { rows, session, results } = started;
      return {
        checks: rows.map((row) => ({
          id: row.id,
          name: row.name,
          checkType: row.type as CheckType,
          tags: fieldsOf(row).tags,
        })),
        ...(body.shouldRecord ? { testSessionId: session.id } : {}),
        testResultIds: body.shouldRecord ? idsBy(results, byCheckId, (row) => row.id) : {},
        sequenceIds: idsBy(results, byCheckId, (row) => row.run_id),
      };
    },
  };
}

function sessionHandlers(
  services: Services,
  { get, getSettled, toWire }: Reading,
): Pick<
  All,
  | 'awaitTestSessionScheduling'
  | 'listTestSessions'
  | 'getTestSession'
  | 'awaitTestSession'
  | 'cancelTestSession'
  | 'getTestSessionLink'
> {
  const { db, publicUrl } = services;
  return {
    // Everything is scheduled before the session has its id.
    awaitTestSessionScheduling: async ({ params }, { principal }) => {
      const session = await get(principal, params.schedulingId);
      const at = toTimestamp(session.started_at);
      return {
        schedulingId: session.id,
        testSessionId: fromFlag(session.is_recorded) ? session.id : null,
        status: 'SUCCEEDED',
        checksTotal: (await resultsOfTestSession(db, session.id)).length,
        error: null,
        ...{ createdAt: at, startedAt: at, endedAt: at },
      };
    },

    listTestSessions: async ({ query }, { principal }) => {
      const { limit, nextId: cursor, ...filter } = query;
      const { rows, nextId } = await listTestSessions(db, principal.accountId, filter, {
        limit,
        nextId: cursor,
      });
      const results = await outcomesOfTestSessions(
        db,
        rows.map((row) => row.id),
      );
      const outcomes = Map.groupBy(results, (row) => row.session_id);
      const groups = await errorGroupsOfResults(
        db,
        results.flatMap((row) => row.result_id ?? []),
      );
      const entries = rows.map((row) => {
        const named = (status: string) =>
          (outcomes.get(row.id) ?? []).flatMap(({ name, outcome }) =>
            statusOfOutcome(outcome) === status ? [name] : [],
          );
        return {
          id: row.id,
          accountId: row.account_id,
          projectId: null,
          name: row.name,
          provider: row.provider,
          running: named('RUNNING'),
          passed: named('PASSED'),
          failed: named('FAILED'),
          cancelled: named('CANCELLED'),
          status: row.status,
          region: row.location,
          privateLocationId: row.private_location_id,
          invoker: row.invoker_name === null ? null : { name: row.invoker_name, picture: null },
          repoUrl: row.repo_url,
          commitId: row.commit_id,
          commitOwner: row.commit_owner,
          commitMessage: row.commit_message,
          branchName: row.branch_name,
          environment: row.environment,
          startedAt: toTimestamp(row.started_at),
          stoppedAt: toTimestampOrNull(row.stopped_at),
          created_at: toTimestamp(row.started_at),
          updated_at: toTimestampOrNull(row.stopped_at),
          errorGroupIds: [
            ...new Set(
              (outcomes.get(row.id) ?? []).flatMap((one) => groups.get(one.result_id ?? '') ?? []),
            ),
          ],
        };
      });
      return { length: entries.length, entries, nextId };
    },

    getTestSession: async ({ params }, { principal }) =>
      toWire(await getSettled(principal, params.testSessionId)),

    awaitTestSession: async ({ params, query }, { principal, signal }) => {
      const { maxWaitSeconds: seconds } = query;
      const row = await get(principal, params.testSessionId);
      const now = await awaitTestSession(services, row, seconds * 1_000, signal);
      if (now.stopped_at === null) {
        throw new ApiError(
          'REQUEST_TIMEOUT',
          `test session ${row.id} has not ended within ${seconds} seconds; call again`,
        );
      }
      return toWire(now);
    },

    cancelTestSession: async ({ params, body }, { principal }) => {
      const session = await get(principal, params.testSessionId);
      await cancelTestSession(services, session, body.sequenceId);
      return undefined;
    },

    getTestSessionLink: async ({ params }, { principal }) => {
      const { id } = await get(principal, params.testSessionId);
      return { link: linkToTestSession(publicUrl, id) };
    },
  };
}

function resultHandlers(
  services: Services,
  { get, getResult, reportUrlOf }: Reading,
): Pick<All, 'getTestSessionResult' | 'listTestSessionResultAssets' | 'getTestSessionResultLinks'> {
  const { publicUrl } = services;
  const files = artifactHandlers(services);

  /** The files in the zip of a test runner. */
  const reportedAssets = (
    row: TestResultRow,
    query: { type?: string; name?: string },
  ): ReportedAsset[] => {
    const report = reportOf(row);
    const url = reportUrlOf(row);
    if (report === null || url === null) return [];
    const facts = {
      ...{ url, contentType: 'application/zip', size: report.sizeBytes, state: 'STORED' as const },
      ...{ reason: null, viewerUrl: null, source: { type: 'test-report', resultId: row.id } },
    };
    const all: ReportedAsset[] = [
      { type: 'report', name: reportFile, ...facts },
      ...report.entries.map((name) => ({
        ...{ type: 'file' as const, name, ...facts, archive: { entryName: name } },
      })),
    ];
    return all.filter(
      ({ type, name }) =>
        (query.type ?? type) === type && (query.name === undefined || name.includes(query.name)),
    );
  };

  return {
    getTestSessionResult: async ({ params }, { principal, headers }) => {
      const row = await getResult(principal, params);
      const session = await get(principal, params.testSessionId);
      const ofSession = {
        testSessionResultId: row.id,
        testSessionResultLink: linkToTestResult(publicUrl, row),
        status: statusOfOutcome(row.outcome),
        aborted: row.outcome === 'CANCELLED',
        scheduleError: row.error,
        privateLocationId: session.private_location_id,
        updated_at: toTimestampOrNull(row.stopped_at),
      };
      const { trial_id: trialId, result_id: resultId } = row;
      const report = reportOf(row);
      if (report !== null && row.outcome !== null)
        return { ...reportedResult(row, report), ...ofSession };
      const json =
        trialId === null || resultId === null
          ? undefined
          : await findCheckResult(services, principal.accountId, trialId, resultId);
      if (json === undefined) {
        const why = row.error ?? (row.outcome === null ? 'it has not ended' : 'it was deleted');
        throw new ApiError('NOT_FOUND', `test result ${row.id} has no details: ${why}`);
      }
      const shown = isExistingClient(headers) ? readableResult(json) : json;
      return { ...(JSON.parse(shown) as ResultWire), ...ofSession };
    },

    listTestSessionResultAssets: async ({ params, query }, context) => {
      const row = await getResult(context.principal, params);
      const { trial_id: checkId, result_id: checkResultId } = row;
      if (checkId === null || checkResultId === null) {
        const assets = reportedAssets(row, query);
        const { length } = assets;
        return { assets, truncated: false, entriesReturned: length, entriesTotal: length };
      }
      const input = { params: { checkId, checkResultId }, query, body: undefined };
      return files.listCheckResultAssets(input, context);
    },

    getTestSessionResultLinks: async ({ params }, context) => {
      const row = await getResult(context.principal, params);
      const { trial_id: checkId, result_id: checkResultId } = row;
      const links = { testResultLink: linkToTestResult(publicUrl, row) };
      const none = { testTraceLinks: [], videoLinks: [], screenshotLinks: [] };
      if (checkId === null || checkResultId === null) return { ...links, ...none };
      const input = { params: { checkId, checkResultId }, query: {}, body: undefined };
      const { assets } = await files.listCheckResultAssets(input, context);
      const ofType = (wanted: string) =>
        assets.flatMap(({ type, url, viewerUrl }) =>
          type === wanted && url !== null ? [viewerUrl ?? url] : [],
        );
      return {
        ...links,
        testTraceLinks: ofType('trace'),
        videoLinks: ofType('video'),
        screenshotLinks: ofType('screenshot'),
      };
    },
  };
}

export function testSessionHandlers(services: Services): All {
  const reading = openReading(services);
  return {
    ...startHandlers(services, reading),
    ...sessionHandlers(services, reading),
    ...resultHandlers(services, reading),
    ...testErrorGroupHandlers(services),
  };
}

/** A result of a test runner, in the shape of all others. */
function reportedResult(row: TestResultRow, { metadata }: Report) {
  const at = toTimestamp(row.stopped_at ?? 0);
  return {
    ...{ id: row.id, name: row.name, checkId: row.check_id, checkType: row.check_type },
    ...({ resultType: 'FINAL', attempts: 1, checkRunId: null } as const),
    sequenceId: row.run_id,
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    isCancelled: row.outcome === 'CANCELLED',
    ...{ overMaxResponseTime: false, underLoad: false, isLate: false, isPayloadDropped: false },
    ...{ agentWaitMs: null, scheduledFor: null, errorGroupIds: [], runLocation: row.location },
    startedAt: toTimestampOrNull(row.started_at),
    ...{ stoppedAt: at, created_at: at, responseTime: row.response_time_ms ?? 0 },
    ...noDetails,
    metadata,
  };
}

const byLogicalId = (row: TestResultRow): string | null => row.logical_id;
const byCheckId = (row: TestResultRow): string | null => row.check_id;
