/**
 * Runs checks in a host of the lab, as a program to be started in it with an IPC channel: gets a
 * question, gives what the runner of its type saw, or the code of the error that is ours.
 */
import { AgentError } from '../../agent/errors.ts';
import { openNextHops } from '../../agent/net/next-hop/kernel.ts';
import { openIcmp } from '../../agent/net/icmp/open-icmp.ts';
import { runApi } from '../../agent/runners/api.ts';
import { runDns } from '../../agent/runners/dns.ts';
import { runIcmp } from '../../agent/runners/icmp.ts';
import type { Observation, Runner } from '../../agent/runners/runner.ts';
import { runTcp } from '../../agent/runners/tcp.ts';
import { runUrl } from '../../agent/runners/url.ts';
import { definitionOf, runnerContext } from './runner-context.ts';
import { scaledClock } from './scaled-clock.ts';

export interface LabQuestion {
  id: number;
  type: 'URL' | 'API' | 'TCP' | 'DNS' | 'ICMP';
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
  /** What its evidence lists, of a failure or of an error of ours. */
  events: string[];
  logged: string[];
}

const runners: Record<LabQuestion['type'], Runner> = {
  ...{ URL: runUrl, API: runApi, TCP: runTcp, DNS: runDns, ICMP: runIcmp },
};

const nextHops = openNextHops();
const { icmp } = openIcmp(process.env);

async function observe(question: LabQuestion): Promise<void> {
  const { id, type, request, timeoutMs, useOsResolver, proxyUrl } = question;
  // While the machine is stuck no time limit of a check comes nearer: only the network may be slow here.
  using clock = scaledClock(1);
  const context = runnerContext(
    timeoutMs ?? 10_000,
    { useOsResolver: useOsResolver ?? false, nextHops, icmp },
    { clock, proxyUrl: proxyUrl ?? null },
  );
  const answer = (fields: Omit<LabAnswer, 'id' | 'logged'>): void => {
    process.send?.({ id, ...fields, logged: context.logged } satisfies LabAnswer);
  };
  try {
    const { failure, response, evidence } = await runners[type](
      definitionOf(type, request),
      context,
    );
    const found = await evidence?.('events');
    const events = found?.diagnostics.events.map(({ event }) => event) ?? [];
    answer({ seen: { failure, response }, ours: null, events });
  } catch (error) {
    const isKnown = error instanceof AgentError;
    const events = isKnown ? error.diagnostics?.events.map(({ event }) => event) : [];
    const ours = { code: isKnown ? error.code : 'BUG', message: String(error) };
    answer({ seen: null, ours, events: events ?? [] });
  }
}

process.on('message', (question: LabQuestion) => void observe(question));
process.send?.('ready');
