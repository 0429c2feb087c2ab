/** The log: fixed lower-case messages, facts as fields, never a secret. */
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import type { AgentConfig } from '../config.ts';
import { printable } from '../printable.ts';

const levels = { DEBUG: 'debug', LOG: 'info', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

function plainValue(value: unknown): string {
  const isBare = typeof value === 'string' && !/[\s"=\\]|\p{C}/u.test(value);
  return isBare ? value : printable(JSON.stringify(value) ?? '');
}

interface ShownError {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: string;
}

/**
 * An error as it is logged: nothing of what libraries hang on theirs, such as requests with their
 * headers.
 */
export function shownError(error: unknown): ShownError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return {
    ...{ type: name, message },
    ...code,
    ...(stack === undefined ? {} : { stack }),
    ...(cause instanceof Error ? { cause: `${cause.name}: ${cause.message}` } : {}),
  };
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
  const said = printable(String(msg));
  const line = `${clock} ${String(level).toUpperCase().padEnd(5)} ${where}${said}`;
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
      serializers: { err: shownError },
    },
    config.LOG_FORMAT === 'plain' ? plain(destination) : destination,
  );
}
