/**
 * A URL check with everything a run has for its evidence. As a program, `captured-visit.ts URL TIMEOUT`
 * does it where and as whom it is started, and prints what came of it as JSON.
 */
import { pathToFileURL } from 'node:url';
import { AgentError } from '../../agent/errors.ts';
import { openPacketCapture } from '../../agent/net/capture/packet-capture.ts';
import type { Observation, RunnerContext } from '../../agent/runners/runner.ts';
import type { Evidence } from '../../agent/net/network-evidence.ts';
import { runUrl } from '../../agent/runners/url.ts';
import { definitionOf, runnerContext } from './runner-context.ts';

export interface Visit {
  seen: Observation;
  evidence: Evidence | undefined;
  /** The files of the run, by name. */
  files: Map<string, Buffer>;
}

/** A sink that keeps what it is given in memory. */
export function filesInMemory(): { files: Map<string, Buffer>; sink: RunnerContext['artifacts'] } {
  const files = new Map<string, Buffer>();
  const sink: RunnerContext['artifacts'] = {
    add({ name, ...given }) {
      if ('bytes' in given) files.set(name, Buffer.from(given.bytes));
      return Promise.resolve(`artifact:${name}`);
    },
  };
  return { files, sink };
}

/** Visits an address and gathers the evidence of its failure. */
export async function visit(
  url: string,
  network: Partial<RunnerContext['network']>,
  {
    timeoutMs = 5_000,
    request = {},
    context = {},
  }: {
    timeoutMs?: number;
    request?: Record<string, unknown>;
    context?: Partial<RunnerContext>;
  } = {},
): Promise<Visit> {
  const { files, sink } = filesInMemory();
  const given = runnerContext(timeoutMs, network, { artifacts: sink, ...context });
  const seen = await runUrl(definitionOf('URL', { url, ...request }), given);
  return { seen, evidence: await seen.evidence?.('all'), files };
}

export interface PrintedVisit {
  uid: number | undefined;
  problem: string | null;
  /** Code of a fault of ours. */
  fault: string | null;
  failure: Observation['failure'];
  evidence: Evidence | null;
  pcap: string | null;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [url = '', timeoutMs = '2000', family = 'IPv4'] = process.argv.slice(2);
  const opened = openPacketCapture({ bufferMb: 4 });
  const problem = 'problem' in opened ? opened.problem : null;
  const visited = await visit(
    url,
    { capture: opened.capture, captureProblem: problem },
    { timeoutMs: Number(timeoutMs), request: { ipFamily: family } },
  ).catch((error: unknown) => error);
  const isSeen = visited !== null && typeof visited === 'object' && 'seen' in visited;
  const { seen, evidence, files } = isSeen ? (visited as Visit) : {};
  const printed: PrintedVisit = {
    uid: process.getuid?.(),
    problem,
    fault: visited instanceof AgentError ? visited.code : null,
    failure: seen?.failure ?? null,
    evidence: evidence ?? null,
    pcap: files?.get('capture.pcap')?.toString('base64') ?? null,
  };
  console.log(JSON.stringify(printed));
  opened.capture?.[Symbol.dispose]();
}
