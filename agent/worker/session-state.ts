/** States of an agent, as its probes show them. Spec: Private location agent probes. */
export type SessionState = 'starting' | 'ready' | 'draining' | 'stopped';

export type SessionEvent = 'schedule-known' | 'stop-asked' | 'work-finished';

interface StateFacts {
  /** Why readiness is 503; null when it is 200. */
  readonly notReady: string | null;
  /** True while assignments and jobs are accepted; cancellations always are. */
  readonly takesWork: boolean;
  /** The next state by event; other events change nothing. */
  readonly on: Readonly<Partial<Record<SessionEvent, SessionState>>>;
}

export const sessionStates: Readonly<Record<SessionState, StateFacts>> = {
  starting: {
    notReady: 'no schedule yet: waiting for the first check-in',
    takesWork: true,
    on: { 'schedule-known': 'ready', 'stop-asked': 'draining' },
  },
  ready: {
    notReady: null,
    takesWork: true,
    on: { 'stop-asked': 'draining' },
  },
  draining: {
    notReady: 'shutting down',
    takesWork: false,
    on: { 'work-finished': 'stopped' },
  },
  stopped: {
    notReady: 'shutting down',
    takesWork: false,
    on: {},
  },
};

export function nextState(state: SessionState, event: SessionEvent): SessionState {
  return sessionStates[state].on[event] ?? state;
}
