/** Decides the states of services and pages, for the page, its badge, its JSON and its feeds. */
import type { z } from 'zod';
import type { severity } from '@monitor/shared/contract/primitives.ts';

export type Severity = z.infer<typeof severity>;

/** Worst first. */
export const serviceStates = [
  'major_outage',
  'partial_outage',
  'degraded_performance',
  'under_maintenance',
  'operational',
] as const;
export type ServiceState = (typeof serviceStates)[number];

/** The state of services in an open incident. MEDIUM and MINOR differ in name only, as in the field. */
const stateBySeverity: Record<Severity, ServiceState> = {
  CRITICAL: 'major_outage',
  MAJOR: 'partial_outage',
  MEDIUM: 'degraded_performance',
  MINOR: 'degraded_performance',
};

export function stateOfSeverity(severity: Severity): ServiceState {
  return stateBySeverity[severity];
}

/** Nothing says that what nobody measures is well; that it fails was seen. */
export function isKnown({ state, isMeasured }: { state: ServiceState; isMeasured: boolean }) {
  return isMeasured || state !== 'operational';
}

/** Null where it is not known. */
export function knownState(shown: { state: ServiceState; isMeasured: boolean }) {
  return isKnown(shown) ? shown.state : null;
}

/** Operational for an empty list. */
export function worstState(states: Iterable<ServiceState>): ServiceState {
  const present = new Set(states);
  return serviceStates.find((state) => present.has(state)) ?? 'operational';
}
