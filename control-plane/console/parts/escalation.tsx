/** The steps of an escalation policy along a line of time; for screen readers, a list. */
import type { DataAt } from '../contract.ts';
import { count, span } from '../format.ts';
import { useChannelNames } from '../views/channels.tsx';

type Step = Partial<DataAt<'v1/escalation-policies'>[number]['steps'][number]>;

/** `isWide` draws the line across, else down. Steps may be of a form that is not filled in yet. */
export function Escalation({
  steps,
  repeats,
  isWide = false,
}: {
  steps: readonly Step[];
  repeats: number;
  isWide?: boolean;
}) {
  const nameOf = useChannelNames();
  const delays = steps.map(({ delayMinutes }) => Number(delayMinutes ?? 0));
  const minutesTo = (step: number) => delays.slice(0, step + 1).reduce((sum, one) => sum + one, 0);
  // A repeat waits at least a minute.
  const everyMinutes = minutesTo(steps.length) + Math.max(0, 1 - (delays[0] ?? 0));
  return (
    <ol class={`escalation ${isWide ? 'wide' : ''}`} aria-label="Escalation">
      {steps.map(({ alertChannelIds = [], people = [], onCall = false }, index) => {
        const minutes = minutesTo(index);
        const whom = [
          ...alertChannelIds.map((id) => nameOf(id, `channel ${id}`)),
          ...people,
          ...(onCall ? ['on call'] : []),
        ];
        return (
          <li key={index} style={{ flexGrow: 1 + Math.log2(1 + (delays[index + 1] ?? 0)) }}>
            <b>{minutes === 0 ? 'At once' : `After ${span(minutes * 60_000)}`}</b>
            <span class="breakable">{whom.join(', ') || 'nobody yet'}</span>
          </li>
        );
      })}
      {repeats > 0 && (
        <li>
          <b>Again every {span(everyMinutes * 60_000)}</b>
          <span>{count(repeats, 'time')}</span>
        </li>
      )}
      <li class="end">
        <b>Ends</b>
        <span>when someone acknowledges, snoozes or mutes it, or it recovers</span>
      </li>
    </ol>
  );
}
