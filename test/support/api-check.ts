/** Running and judging one API check. */
import type { IncomingHttpHeaders } from 'node:http';
import { apiCheck } from '@monitor/shared/contract/checks/api.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import { runApi } from '../../agent/runners/api.ts';
import type { Observation, RunnerContext } from '../../agent/runners/runner.ts';
import { definitionOf, runnerContext } from './runner-context.ts';
import { httpServer, type TestServer } from './servers.ts';

export interface Echo {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Answers with what it was asked, as JSON. */
export function echoServer(): Promise<TestServer> {
  return httpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      const echo = { method, url, headers, body: Buffer.concat(chunks).toString() };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(echo));
    });
  });
}

/** What an echo server was asked. */
export function echoOf({ response }: Observation): Echo {
  return JSON.parse(String(response?.['body'])) as Echo;
}

/** A run of an API check; `further` goes into its context. */
export function runCheck(
  request: Record<string, unknown>,
  further: Partial<RunnerContext> = {},
): Promise<Observation> {
  const definition = definitionOf('API', { method: 'GET', ...request });
  return runApi(definition, runnerContext(further.timeoutMs ?? 10_000, {}, further));
}

/** The verdict on what a run observed. */
export function verdictOn(
  observation: Observation,
  assertions: Record<string, unknown>[] = [],
  further: Record<string, unknown> = {},
): Verdict {
  const request = { method: 'GET', url: 'http://any.example', assertions };
  const { judging } = apiCheck;
  if (judging === null) throw new Error('API checks are judged');
  return judge(judging, definitionOf('API', request, further), { ...observation });
}
