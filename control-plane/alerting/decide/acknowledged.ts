import type { AlertState } from './state.ts';

/** The state after somebody took the open alert on; `untilAt` is null when no reminder shall follow. */
export function acknowledged(state: AlertState, untilAt: number | null): AlertState {
  const { alert } = state;
  if (alert === null) return state;
  return { ...state, alert: { ...alert, acknowledged: { untilAt } } };
}
