/**
 * The one place that decides in which state a service and a page are: the page itself, its badge, its
 * JSON and its feeds all say what is said here.
 */
import type { Severity } from './facts.ts';

/** From worst to best. */
export const serviceStates = [
  'major_outage',
  'partial_outage',
  'degraded_performance',
  'under_maintenance',
  'operational',
] as const;
export type ServiceState = (typeof serviceStates)[number];

/** What an open incident does to its services. MEDIUM and MINOR differ in name only, as in the field. */
const stateBySeverity: Record<Severity, ServiceState> = {
  CRITICAL: 'major_outage',
  MAJOR: 'partial_outage',
  MEDIUM: 'degraded_performance',
  MINOR: 'degraded_performance',
};

export function stateOfSeverity(severity: Severity): ServiceState {
  return stateBySeverity[severity];
}

/** Operational for none. */
export function worstState(states: Iterable<ServiceState>): ServiceState {
  const present = new Set(states);
  return serviceStates.find((state) => present.has(state)) ?? 'operational';
}

const words: Record<ServiceState, string> = {
  major_outage: 'Major outage',
  partial_outage: 'Partial outage',
  degraded_performance: 'Degraded performance',
  under_maintenance: 'Under maintenance',
  operational: 'Operational',
};

export function stateWords(state: ServiceState): string {
  return words[state];
}

/** As a headline for everything together. */
export function overallWords(state: ServiceState): string {
  return state === 'operational' ? 'All systems operational' : words[state];
}
