/** When the next step of an escalation policy is due, and what its decisions say. */
import type { z } from 'zod';
import type { escalationPolicy } from '@monitor/shared/contract/escalation-policy.ts';

export type PolicyFields = Pick<
  z.output<typeof escalationPolicy>,
  'name' | 'steps' | 'repeats' | 'rotation'
>;
export type PolicyStep = PolicyFields['steps'][number];

/** Steps without a delay are not repeated faster than this. */
const leastRepeatMinutes = 1;

/** The step after `done` steps and when it is due, counted from the step before; null after the last. */
export function nextStep(
  { steps, repeats }: PolicyFields,
  done: number,
  from: number,
): { step: PolicyStep; number: number; dueAt: number } | null {
  const index = done % steps.length;
  const step = steps[index];
  if (step === undefined || done >= steps.length * (repeats + 1)) return null;
  const isRepeat = done > 0 && index === 0;
  const minutes = isRepeat ? Math.max(leastRepeatMinutes, step.delayMinutes) : step.delayMinutes;
  return { step, number: index + 1, dueAt: from + minutes * 60_000 };
}

/** `Step 2 of the escalation policy "Shop" notified …; left out: …`. */
export function stepText(
  policy: string,
  step: number,
  notified: readonly string[],
  leftOut: readonly string[],
): string {
  const whom = notified.length === 0 ? 'notified nobody' : `notified ${notified.join(', ')}`;
  const rest = leftOut.length === 0 ? '' : `; left out: ${leftOut.join(', ')}`;
  return `Step ${step} of the escalation policy "${policy}" ${whom}${rest}.`;
}

export function stopText(policy: string, why: string): string {
  return `The escalation policy "${policy}" stopped: ${why}.`;
}
