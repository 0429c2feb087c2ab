/** Acknowledge, snooze and mute: what people do about an open alert. */
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem } from '../problem.ts';
import { useMe } from '../me.ts';
import { Action } from '../parts/layout.tsx';
import { wordsOf } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';

export type CheckAlert = DataAt<'v1/check-alerts'>[number];

const minuteMs = 60_000;
const morningHour = 9;
/** As the API allows. */
const maxMinutes = 10_080;

/** Nine o'clock of tomorrow, where the viewer is. */
function tomorrowMorning() {
  const at = new Date();
  at.setDate(at.getDate() + 1);
  at.setHours(morningHour, 0, 0, 0);
  return at;
}

/** Who took an alert on. */
export function Taken({ alert: { acknowledgement: taken } }: { alert: CheckAlert }) {
  if (taken === null) return null;
  return (
    <span class="taken">
      {taken.kind === 'SNOOZED' && taken.until !== null ? (
        <>
          Snoozed until <Time at={taken.until} />
        </>
      ) : (
        'Acknowledged'
      )}{' '}
      by {taken.by}, <Time at={taken.created_at} />
    </span>
  );
}

function Snooze({ about, snooze }: { about: string; snooze: (minutes: number) => Promise<void> }) {
  const [until, setUntil] = useState('');
  const to = (at: Date) => {
    const minutes = Math.ceil((at.getTime() - Date.now()) / minuteMs);
    return snooze(Math.min(maxMinutes, Math.max(1, minutes)));
  };
  const isFuture = until !== '' && new Date(until).getTime() > Date.now();
  return (
    <details class="snooze">
      <summary class="button" aria-label={`Snooze ${about}`}>
        Snooze
      </summary>
      <div class="actions">
        <Action word="For an hour" busy="Snoozing" run={() => snooze(60)} />
        <Action word="Until tomorrow, 9:00" busy="Snoozing" run={() => to(tomorrowMorning())} />
        <label class="field">
          <span>Until</span>
          <input
            type="datetime-local"
            value={until}
            onInput={(event) => setUntil(event.currentTarget.value)}
          />
        </label>
        <Action
          word="Snooze until then"
          busy="Snoozing"
          run={() => to(new Date(until))}
          disabled={!isFuture}
          title={isFuture ? undefined : 'Choose an instant to come, of the next seven days'}
        />
      </div>
    </details>
  );
}

interface AlertActionsProps {
  place: 'check-alerts' | 'alert-groups';
  id: string;
  about: string;
  checkId?: string | undefined;
  onDone: () => Promise<unknown>;
}

/** The actions on one alert or on a group; `checkId` offers to mute its check. */
export function AlertActions({ place, id, about, checkId, onDone }: AlertActionsProps) {
  const { mayWrite } = useMe();
  const [message, setMessage] = useState('');
  if (!mayWrite) return null;
  const attempt = async (act: () => Promise<unknown>, done: string) => {
    try {
      await act();
      setMessage(done);
      await onDone();
    } catch (error) {
      setMessage(wordsOf(toProblem(error)));
    }
  };
  const acknowledge = (snoozeMinutes: number | null) => {
    const request = { method: 'POST', body: { snoozeMinutes } } as const;
    return place === 'check-alerts'
      ? call(`v1/check-alerts/${id}/acknowledge`, request)
      : call(`v1/alert-groups/${id}/acknowledge`, request);
  };
  return (
    <div class="actions alert-actions">
      <Action
        word="Acknowledge"
        busy="Acknowledging"
        run={() => attempt(() => acknowledge(null), 'Acknowledged')}
      />
      <Snooze
        about={about}
        snooze={(minutes: number) => attempt(() => acknowledge(minutes), 'Snoozed')}
      />
      {checkId !== undefined && (
        <Action
          word="Mute"
          busy="Saving"
          title="No notifications about this check until it is unmuted"
          run={() =>
            attempt(
              () => call(`v1/checks/${checkId}`, { method: 'PUT', body: { muted: true } }),
              'The check is muted',
            )
          }
        />
      )}
      {message !== '' && (
        <span class="under" role="status">
          {message}
        </span>
      )}
    </div>
  );
}
