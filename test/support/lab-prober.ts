/**
 * Runs checks in a host of the lab, as a program to be started in it with an IPC channel: gets a
 * question, gives what the runner of its type saw, or the code of the error that is ours.
 */
import { AgentError } from '../../agent/errors.ts';
import { runIcmp } from '../../agent/runners/icmp.ts';
import type { Observation, Runner } from '../../agent/runners/runner.ts';
import { runTcp } from '../../agent/runners/tcp.ts';
import { runUrl } from '../../agent/runners/url.ts';
import { definitionOf, runnerContext } from './runner-context.ts';

export interface LabQuestion {
  id: number;
  type: 'URL' | 'TCP' | 'ICMP';
  request: Record<string, unknown>;
  timeoutMs?: number;
  useOsResolver?: boolean;
  proxyUrl?: string;
}

export interface LabAnswer {
  id: number;
  /** Null when the fault was ours. */
  seen: Pick<Observation, 'failure' | 'response'> | null;
  /** Code and message of an error of ours. */
  ours: { code: string; message: string } | null;
  logged: string[];
}

const runners: Record<LabQuestion['type'], Runner> = { URL: runUrl, TCP: runTcp, ICMP: runIcmp };

process.on('message', ({ id, type, request, timeoutMs, useOsResolver, proxyUrl }: LabQuestion) => {
  const context = runnerContext(
    timeoutMs ?? 10_000,
    { useOsResolver: useOsResolver ?? false },
    { proxyUrl: proxyUrl ?? null },
  );
  const answer = (fields: Omit<LabAnswer, 'id' | 'logged'>): void => {
    process.send?.({ id, ...fields, logged: context.logged } satisfies LabAnswer);
  };
  void runners[type](definitionOf(type, request), context).then(
    ({ failure, response }) => {
      answer({ seen: { failure, response }, ours: null });
    },
    (error: unknown) => {
      const code = error instanceof AgentError ? error.code : 'BUG';
      answer({ seen: null, ours: { code, message: String(error) } });
    },
  );
});
process.send?.('ready');
