/** Incidents for visitors: only what is public at an instant. */
import {
  duration,
  type IncidentStatus,
  inOrder,
  openRanges,
} from '../../incidents/decide/incident.ts';
import type { IncidentFacts, Severity, ServiceFacts } from './facts.ts';
import { stateOfSeverity, type ServiceState } from './states.ts';

export interface UpdateView {
  id: string;
  status: IncidentStatus;
  description: string;
  publicAt: number;
  createdAt: number;
}

export interface IncidentView {
  id: string;
  name: string;
  severity: Severity;
  /** State of its services while it is open. */
  state: ServiceState;
  status: IncidentStatus;
  isOpen: boolean;
  services: { id: string; name: string }[];
  /** Newest first, at least one. */
  updates: UpdateView[];
  startedAt: number;
  /** Time of the closing update; null while it is open. */
  endedAt: number | null;
  durationMs: number;
  /** Without the time between a resolution and a re-opening. */
  open: { from: number; to: number | null }[];
  createdAt: number;
  /** Time of its newest update. */
  updatedAt: number;
}

/** Null while nothing of the incident is public. */
export function viewIncident(
  facts: IncidentFacts,
  services: ReadonlyMap<string, Pick<ServiceFacts, 'id' | 'name'>>,
  now: number,
): IncidentView | null {
  const known = facts.updates.filter(({ publicAt }) => publicAt <= now);
  const byAge = inOrder(known);
  const [first] = byAge;
  const last = byAge.at(-1);
  if (first === undefined || last === undefined) return null;
  const durationMs = duration(known, now) ?? 0;
  const isOpen = last.status !== 'RESOLVED';
  const bySeq = new Map(known.map((update) => [update.seq, update]));
  return {
    id: facts.id,
    name: facts.name,
    severity: facts.severity,
    state: stateOfSeverity(facts.severity),
    status: last.status,
    isOpen,
    services: facts.serviceIds.flatMap((id) => {
      const service = services.get(id);
      return service === undefined ? [] : [{ id, name: service.name }];
    }),
    updates: byAge.toReversed().flatMap(({ seq }) => {
      const update = bySeq.get(seq);
      if (update === undefined) return [];
      const { id, status, description, publicAt, createdAt } = update;
      return [{ id, status, description, publicAt, createdAt }];
    }),
    startedAt: first.publicAt,
    endedAt: isOpen ? null : first.publicAt + durationMs,
    durationMs,
    open: openRanges(known),
    createdAt: facts.createdAt,
    updatedAt: last.publicAt,
  };
}

/** By start, newest first. */
export function newestFirst(incidents: readonly IncidentView[]): IncidentView[] {
  return [...incidents].sort(
    (left, right) => right.startedAt - left.startedAt || (left.id < right.id ? -1 : 1),
  );
}
