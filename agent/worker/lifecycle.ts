/**
 * The life of an agent, as its probes tell it.
 *
 *   starting   no schedule yet                        → ready, draining
 *   ready      a schedule is being followed           → draining
 *   draining   nothing new starts, work is finished   → stopped
 *   stopped    the process is about to end
 */
export type LifecycleState = 'starting' | 'ready' | 'draining' | 'stopped';

export type LifecycleEvent = 'schedule-known' | 'stop-asked' | 'work-finished';

/** The state after an event; events that mean nothing in a state change nothing. */
export function stepLifecycle(state: LifecycleState, event: LifecycleEvent): LifecycleState {
  switch (event) {
    case 'schedule-known':
      return state === 'starting' ? 'ready' : state;
    case 'stop-asked':
      return state === 'stopped' ? state : 'draining';
    case 'work-finished':
      return state === 'draining' ? 'stopped' : state;
  }
}

/** Why readiness is 503 in a state; null when it is 200. Spec: Private location agent probes. */
export function notReadyReason(state: LifecycleState): string | null {
  switch (state) {
    case 'ready':
      return null;
    case 'starting':
      return 'no schedule yet: waiting for the first check-in';
    case 'draining':
    case 'stopped':
      return 'shutting down';
  }
}
