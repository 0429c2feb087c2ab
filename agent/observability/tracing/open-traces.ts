/** Traces of runs, when the settings name a collector. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { Logger } from 'pino';
import type { AgentConfig } from '../../config.ts';
import { createDispatcher } from '../../link/dispatcher.ts';
import { AgentError } from '../../errors.ts';
import type { AgentMetrics } from '../metrics.ts';
import { spansOf, type FinishedAttempt } from './run-spans.ts';
import { parseHeaders, TraceExporter } from './trace-exporter.ts';

export interface Traces extends AsyncDisposable {
  /** Never throws, never waits. */
  record(attempt: FinishedAttempt): void;
  /** Hands in what waits, within a time; nothing is taken afterwards. */
  flush(withinMs: number): Promise<void>;
}

export interface TracesParts {
  config: AgentConfig;
  agentId: string;
  version: string;
  clock: Clock;
  random: () => number;
  metrics: AgentMetrics;
  logger: Logger;
}

const nothing: Traces = {
  record: () => undefined,
  flush: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function headersOf({ OTEL_EXPORTER_OTLP_HEADERS: text }: AgentConfig): Record<string, string> {
  try {
    return text === undefined ? {} : parseHeaders(text.reveal());
  } catch (error) {
    throw new AgentError(
      'CONFIG_INVALID',
      `the configuration cannot be used:\n  ${error instanceof Error ? error.message : String(error)}\n` +
        'Write it as name=value,name=value with values percent-encoded.',
    );
  }
}

/** Opens the trace exporter; without OTEL_EXPORTER_OTLP_ENDPOINT nothing is exported. */
export function openTraces(parts: TracesParts): Traces {
  const { config, agentId, version, clock, random, metrics, logger } = parts;
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return nothing;
  const dispatcher = createDispatcher(config);
  const exporter = new TraceExporter({
    ...{ dispatcher, version, clock, random, metrics, logger },
    endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: headersOf(config),
    resource: {
      'service.name': config.OTEL_SERVICE_NAME,
      'service.version': version,
      'service.instance.id': agentId,
    },
  });
  return {
    record(attempt) {
      try {
        exporter.add(spansOf(attempt));
      } catch (error) {
        logger.error({ err: error }, 'no spans could be made of an attempt');
      }
    },
    flush: (withinMs) => exporter.flush(withinMs),
    async [Symbol.asyncDispose]() {
      await exporter.flush(0);
      await dispatcher.destroy();
    },
  };
}
