/** Template values of a run. */
import { randomBytes } from 'node:crypto';
import type { EnvironmentEntry } from '@monitor/shared/contract/agent-protocol.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { TemplateValues } from './variables.ts';

/** Merged variables by name; variables that describe the run have the lowest priority. */
export function variablesOf(
  environment: readonly EnvironmentEntry[],
  below: Readonly<Record<string, string>> = {},
): Map<string, string> {
  return new Map([
    ...Object.entries(below),
    ...environment.map(({ key, value }) => [key, value] as const),
  ]);
}

/** Template values at this instant. */
export function templateValues(
  variables: ReadonlyMap<string, string>,
  clock: Clock,
  random: TemplateValues['random'] = randomBytes,
): TemplateValues {
  return { variables, random, now: () => clock.now() };
}
