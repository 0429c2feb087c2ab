/** The log: fixed lower-case messages, facts as fields, never a secret. */
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { AgentConfig } from '../config.ts';

const levels = { DEBUG: 'debug', LOG: 'info', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

function plainValue(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) ? JSON.stringify(value) : value;
  return JSON.stringify(value) ?? '';
}

/** One JSON line as people read it: `05:20:08.123 WARN  [outbox] results dropped  count=3`. */
export function toPlainLine(json: string): string {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { time, level, subsystem, msg, err, ...rest } = fields;
  const clock = String(time).slice(11, 23);
  const where = subsystem === undefined ? '' : `[${String(subsystem)}] `;
  const facts = Object.entries(rest).map(([name, value]) => `${name}=${plainValue(value)}`);
  if (typeof err === 'object' && err !== null && 'message' in err) {
    facts.push(`error=${plainValue(err.message)}`);
  }
  const line = `${clock} ${String(level).toUpperCase().padEnd(5)} ${where}${String(msg)}`;
  return `${[line, ...facts].join('  ')}\n`;
}

function plain(destination: DestinationStream): DestinationStream {
  return {
    write(line: string) {
      destination.write(toPlainLine(line));
    },
  };
}

/** Writes to a stream such as `process.stdout`. */
export function createLogger(
  config: Pick<AgentConfig, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  destination: DestinationStream,
): Logger {
  return pino(
    {
      level: levels[config.LOG_LEVEL],
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    config.LOG_FORMAT === 'plain' ? plain(destination) : destination,
  );
}
