/** Results of a test runner: reported by the runner itself, with its files as a zip. */
import type { testReportRoutes } from '@monitor/shared/contract/test-report.ts';
import { actorOf, nameOfActor } from '../../audit/index.ts';
import type { CodeBundleStore } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { toFlag } from '../../db/columns.ts';
import { ApiError, notFound } from '../../errors/api-error.ts';
import { asStream } from '../../http/answer.ts';
import type { Handlers } from '../../http/handlers.ts';
import { linkToTestSession } from '../../notifications/index.ts';
import {
  createReportedSession,
  findTestResult,
  finishReportedResult,
  keepReport,
  reportOf,
  type TestResultRow,
} from '../../sessions/index.ts';
import { originOf } from './origin.ts';
import { linkToReport, reportFile } from './report-link.ts';

const instantOf = (text: string | undefined): number | null =>
  text === undefined ? null : Date.parse(text);

export function testReportHandlers(
  services: Services,
  codeBundles: CodeBundleStore,
): Handlers<typeof testReportRoutes> {
  const { clock, db, links, publicUrl } = services;

  const get = async (
    accountId: string,
    { testSessionId, testResultId }: { testSessionId: string; testResultId: string },
  ): Promise<TestResultRow> => {
    const row = await findTestResult(db, accountId, testSessionId, testResultId);
    // Results of agents are not reported.
    if (row === undefined || reportOf(row) === null) throw notFound('test result', testResultId);
    return row;
  };

  return {
    createReportedSession: async ({ body }, { principal }) => {
      const { session, results } = await createReportedSession(
        services,
        {
          ...{ account_id: principal.accountId, name: body.name, provider: body.provider },
          ...{ suite_id: null, project: null, location: '', private_location_id: null },
          invoked_by: principal.keyId,
          invoker_name: await nameOfActor(db, actorOf(principal), clock.now()),
          ...originOf(body),
          ...{ is_recorded: toFlag(true), streams_logs: toFlag(false) },
        },
        body.testResults.map(({ name }) => name),
      );
      return {
        testSessionId: session.id,
        link: linkToTestSession(publicUrl, session.id),
        testResults: results.map(({ id }) => ({ testResultId: id })),
      };
    },

    uploadReport: async ({ params }, { principal, body, headers, signal }) => {
      const { accountId } = principal;
      const row = await get(accountId, params);
      const announced = headers['content-length'];
      const bytes = announced === undefined ? undefined : Number(announced);
      const file = await codeBundles.receive(accountId, body, bytes, signal, 'file');
      await keepReport(services, row, { key: file.path, sizeBytes: file.size_bytes });
      return {
        ...{ assetId: row.id, region: 'local', key: file.path },
        url: linkToReport(links, publicUrl, row.id, clock.now()),
      };
    },

    finishReportedResult: async ({ params, body }, { principal }) => {
      const row = await get(principal.accountId, params);
      await finishReportedResult(services, row, {
        ...{ status: body.status, isDegraded: body.isDegraded, responseTime: body.responseTime },
        startedAt: instantOf(body.startedAt),
        stoppedAt: instantOf(body.stoppedAt),
        entries: (body.assetEntries ?? []).map(({ name }) => name),
        metadata: body.metadata ?? {},
      });
      return { testResultId: row.id };
    },

    downloadReport: async ({ params, query }) => {
      const { testResultId: resultId } = params;
      const worth = links.check({ resultId, name: reportFile, ...query }, clock.now());
      if (worth !== 'valid') {
        const what = worth === 'expired' ? 'has expired' : 'is not one of this control plane';
        throw new ApiError(
          'FORBIDDEN',
          `the link ${what}; read the assets of the test result again`,
        );
      }
      // The link names no account: its signature stands for it.
      const row = await db
        .selectFrom('test_results')
        .select(['account_id', 'report_json'])
        .where('id', '=', resultId)
        .executeTakeFirst();
      const report = row === undefined ? null : reportOf(row);
      const key = report?.key ?? null;
      const file =
        row === undefined || key === null ? undefined : await codeBundles.open(row.account_id, key);
      if (file === undefined) throw notFound('report', resultId);
      return asStream(file.stream, {
        'Content-Length': file.row.size_bytes,
        'Content-Disposition': `attachment; filename="${reportFile}"`,
      });
    },
  };
}
