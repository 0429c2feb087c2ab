/**
 * `/probe?target=…&module=…`, as the blackbox exporter of Prometheus answers it, so that existing scrape
 * configurations and dashboards work against an agent. Probes have a pool of their own: whatever asks
 * here takes no place from checks.
 */
import { readFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Logger } from 'pino';
import type { AgentConfig } from '../config.ts';
import { doors } from '../doors.ts';
import { AgentError } from '../errors.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import { Permits } from '../permits.ts';
import { commonModules } from './common-modules.ts';
import { parseModules, type ProbeModule, type UnusableModule } from './module-schema.ts';
import { probeDns } from './probe-dns.ts';
import { probeHttp } from './probe-http.ts';
import { probeIcmp } from './probe-icmp.ts';
import { probeTcp } from './probe-tcp.ts';
import { ProbeReport } from './report.ts';
import type { ProbeSurroundings } from './surroundings.ts';

type Modules = ReadonlyMap<string, ProbeModule | UnusableModule>;

/** Throws CONFIG_INVALID with what is wrong with the file, and where. */
export async function readModules(path: string | undefined): Promise<Modules> {
  if (path === undefined) return parseModules(commonModules);
  try {
    const text = readFileSync(path, 'utf8');
    const { parseYaml } = await import('../read-yaml.ts');
    return parseModules(parseYaml(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AgentError(
      'CONFIG_INVALID',
      `PROBE_CONFIG_FILE ${path} cannot be used: ${reason}. Correct it, or leave it out for the common modules.`,
      { cause: error },
    );
  }
}

const { atOnce, waiting: maxWaiting, longestMs: maxProbeMs } = doors.healthPort.probes;
/** Left to the answer on its way back. */
const offsetMs = 500;

export interface ProbeEndpointParts {
  config: Pick<AgentConfig, 'PROBE_ENDPOINT' | 'PROBE_CONFIG_FILE'>;
  network: NetworkAccess;
  metrics: Pick<AgentMetrics, 'probes'>;
  clock: Clock;
  logger: Logger;
}

/** The smaller of what the scraper allows and what the module says. */
function timeoutOf(header: string | string[] | undefined, module: ProbeModule): number {
  const seconds = Number(header ?? Number.NaN);
  const scrapeMs =
    Number.isFinite(seconds) && seconds > 0
      ? Math.max(seconds * 1000 - offsetMs, Math.min(seconds * 1000, offsetMs))
      : maxProbeMs;
  return Math.min(scrapeMs, module.timeoutMs === 0 ? maxProbeMs : module.timeoutMs);
}

function runProbe(
  target: string,
  module: ProbeModule,
  report: ProbeReport,
  surroundings: ProbeSurroundings,
): Promise<boolean> {
  switch (module.prober) {
    case 'http':
      return probeHttp(target, module.http, report, surroundings);
    case 'tcp':
      return probeTcp(target, module.tcp, report, surroundings);
    case 'dns':
      return probeDns(target, module.dns, report, surroundings);
    case 'icmp':
      return probeIcmp(target, module.icmp, report, surroundings);
  }
}

function answerText(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8' })
    .end(text.endsWith('\n') ? text : `${text}\n`);
}

function listenerOf(modules: Modules, parts: ProbeEndpointParts): RequestListener {
  const { network, metrics, clock, logger } = parts;
  const permits = new Permits(atOnce);

  const probe = async (
    {
      target,
      module,
      isDebug,
      hostname,
      scrape,
    }: {
      target: string;
      module: ProbeModule;
      isDebug: boolean;
      hostname: string | null;
      scrape: string | string[] | undefined;
    },
    response: ServerResponse,
  ): Promise<void> => {
    const { prober } = module;
    // The client gave up while the probe waited for its turn.
    if (response.destroyed) return;
    const hangUp = new AbortController();
    response.once('close', () => hangUp.abort());
    const report = new ProbeReport();
    const begunAt = clock.monotonic();
    const timeoutMs = timeoutOf(scrape, module);
    let isSuccess = false;
    let fault: AgentError | null = null;
    try {
      const surroundings = { clock, network, signal: hangUp.signal, timeoutMs, hostname };
      isSuccess = await runProbe(target, module, report, surroundings);
    } catch (error) {
      fault =
        error instanceof AgentError
          ? error
          : new AgentError(
              'RUNNER_BROKEN',
              error instanceof Error ? error.message : String(error),
              {
                cause: error,
              },
            );
      report.note(`agent error, ${fault.code}: ${fault.message}`);
    }
    const tookMs = clock.monotonic() - begunAt;
    const outcome = fault !== null ? 'error' : isSuccess ? 'success' : 'failure';
    metrics.probes.inc({ prober, outcome });
    logger.debug({ prober, outcome, tookMs: Math.round(tookMs), code: fault?.code }, 'probe made');
    report.set(
      'probe_duration_seconds',
      'Returns how long the probe took to complete in seconds',
      tookMs / 1000,
    );
    report.set(
      'probe_success',
      'Displays whether or not the probe was a success',
      isSuccess ? 1 : 0,
    );
    const metricsText = await report.text();
    if (isDebug) {
      const lines = report.log.map((line) => JSON.stringify(line)).join('\n');
      answerText(
        response,
        200,
        `Logs for the probe:\n${lines}\n\nMetrics that would have been returned:\n${metricsText}\n\nProber: ${prober}, timeout ${timeoutMs} ms, outcome ${outcome}\n`,
      );
    } else if (fault !== null) {
      // Nothing was learned about the target, so nothing is said about it: the scrape itself fails.
      answerText(response, 503, `${fault.code}: ${fault.message}`);
    } else {
      response.writeHead(200, { 'content-type': report.contentType }).end(metricsText);
    }
  };

  return (request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://agent');
    const refuse = (status: number, outcome: string, why: string): void => {
      metrics.probes.inc({ prober: 'none', outcome });
      answerText(response, status, why);
    };
    const name = searchParams.get('module') ?? 'http_2xx';
    const target = searchParams.get('target') ?? '';
    const module = modules.get(name);
    if (module === undefined) refuse(400, 'invalid', `Unknown module ${JSON.stringify(name)}`);
    else if ('unusable' in module) {
      refuse(400, 'invalid', `Module ${JSON.stringify(name)} cannot be used: ${module.unusable}`);
    } else if (target === '') refuse(400, 'invalid', 'Target parameter is missing');
    else if (searchParams.getAll('target').length > 1) {
      refuse(400, 'invalid', 'Target parameter must be given once');
    } else if (permits.queued >= maxWaiting) {
      refuse(503, 'busy', `more than ${maxWaiting} probes wait already`);
    } else {
      const wanted = {
        ...{ target, module, hostname: searchParams.get('hostname') },
        isDebug: searchParams.get('debug') === 'true',
        scrape: request.headers['x-prometheus-scrape-timeout-seconds'],
      };
      void permits
        .run(() => probe(wanted, response))
        .catch((error: unknown) => {
          logger.error({ err: error }, 'probe was not answered');
          response.destroy();
        });
    }
  };
}

/** Opens `/probe`; null where it is switched off. Throws CONFIG_INVALID for a file that cannot be used. */
export async function openProbeEndpoint(
  parts: ProbeEndpointParts,
): Promise<RequestListener | null> {
  const { PROBE_ENDPOINT: isOn, PROBE_CONFIG_FILE: path } = parts.config;
  if (!isOn) return null;
  const modules = await readModules(path);
  for (const [module, read] of modules) {
    if ('unusable' in read) {
      parts.logger.warn({ module, reason: read.unusable }, 'module of /probe cannot be used');
    }
  }
  parts.logger.info(
    { modules: [...modules.keys()] },
    'serving /probe to anyone who reaches the port',
  );
  return listenerOf(modules, parts);
}
