import { pino, type DestinationStream, type Logger } from 'pino';
import type { AgentConfig } from '../config.ts';

const levels = { DEBUG: 'debug', LOG: 'info', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** JSON lines on standard output. Messages are fixed phrases; facts are fields; secrets are neither. */
export function createLogger(
  level: AgentConfig['LOG_LEVEL'],
  destination?: DestinationStream,
): Logger {
  const options = { level: levels[level], base: null };
  return destination === undefined ? pino(options) : pino(options, destination);
}
