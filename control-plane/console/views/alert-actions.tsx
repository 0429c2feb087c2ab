/** Acknowledge, snooze and mute: what people do about one alert or several. */
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { forEach } from '../each.ts';
import { count } from '../format.ts';
import { useMe } from '../me.ts';
import { clockAt, instantAt, instantOf, timeZone } from '../own-zone.ts';
import { Action } from '../parts/layout.tsx';
import { refresh } from '../query.ts';

/** What the rows of alerts are about: a group of alerts, or one outage. */
export type Cause = DataAt<'v1/alert-overview'>[number];

const minuteMs = 60_000;
const morningHour = 9;
/** As the API allows. */
const maxMinutes = 10_080;

/** Nine o'clock of tomorrow, where the viewer is. */
function tomorrowMorning() {
  const clock = clockAt(Date.now());
  clock.setUTCDate(clock.getUTCDate() + 1);
  return instantAt(clock.setUTCHours(morningHour, 0, 0, 0));
}

function Snooze({ about, snooze }: { about: string; snooze: (minutes: number) => Promise<void> }) {
  const [until, setUntil] = useState('');
  const to = (instant: number) => {
    const minutes = Math.ceil((instant - Date.now()) / minuteMs);
    return snooze(Math.min(maxMinutes, Math.max(1, minutes)));
  };
  const isFuture = until !== '' && instantOf(until) > Date.now();
  return (
    <details class="snooze">
      <summary class="button" aria-label={`Snooze ${about}`}>
        Snooze
      </summary>
      <div class="actions">
        <Action word="For an hour" busy="Snoozing" run={() => snooze(60)} />
        <Action word="Until tomorrow, 9:00" busy="Snoozing" run={() => to(tomorrowMorning())} />
        <label class="field">
          <span>Until ({timeZone})</span>
          <input
            type="datetime-local"
            value={until}
            onInput={(event) => setUntil(event.currentTarget.value)}
          />
        </label>
        <Action
          word="Snooze until then"
          busy="Snoozing"
          run={() => to(instantOf(until))}
          disabled={!isFuture}
          title={isFuture ? undefined : 'Choose a time within the next seven days'}
        />
      </div>
    </details>
  );
}

export const lasts = ({ state }: { state: Cause['state'] }) =>
  state !== 'OVER' && state !== 'NOTICE';

/** On the page of a check, one outage of a group is taken alone. */
function acknowledge({ id, alertGroupId, outages }: Cause, snoozeMinutes: number | null) {
  const request = { method: 'POST', body: { snoozeMinutes } } as const;
  const [outage] = outages;
  return alertGroupId !== null && outages.length > 1
    ? call(`v1/alert-groups/${alertGroupId}/acknowledge`, request)
    : call(`v1/check-alerts/${outage?.checkAlertId ?? id}/acknowledge`, request);
}

/** Acts on those of the causes that an action makes sense for. */
export function useActions(causes: Cause[]) {
  const [message, setMessage] = useState('');
  const report = async (word: string, refused: { why: string }[]) => {
    await refresh();
    const [first] = refused;
    setMessage(first === undefined ? word : `${count(refused.length, 'alert')} not: ${first.why}`);
  };
  const wanted = (...states: Cause['state'][]) =>
    causes.filter(({ state }) => states.includes(state));
  const mute = async (muted: boolean) => {
    const outages = causes.flatMap((cause) => cause.outages).filter(lasts);
    const others = outages.filter(({ state }) => (state === 'MUTED') !== muted);
    const ids = [...new Set(others.map(({ checkId }) => checkId))];
    const refused = await forEach(ids, (id) =>
      call(`v1/checks/${id}`, { method: 'PUT', body: { muted } }),
    );
    await report(`${muted ? 'Muted' : 'Unmuted'} ${count(ids.length, 'monitor')}`, refused);
  };
  return {
    message,
    mute,
    /** The causes that are not acknowledged yet. */
    open: wanted('OPEN', 'SNOOZED'),
    acknowledge: async () => {
      const refused = await forEach(wanted('OPEN', 'SNOOZED'), (one) => acknowledge(one, null));
      await report('Acknowledged', refused);
    },
    snooze: async (minutes: number) => {
      const asked = wanted('OPEN', 'SNOOZED', 'ACKNOWLEDGED');
      await report('Snoozed', await forEach(asked, (one) => acknowledge(one, minutes)));
    },
  };
}

/** `about` names the causes for screen readers. */
export function AlertActions({ causes, about }: { causes: Cause[]; about: string }) {
  const { mayWrite } = useMe();
  const { open, acknowledge: takeOn, snooze, mute, message } = useActions(causes);
  if (!mayWrite || !causes.some(lasts)) return null;
  const isAllMuted = causes.every(({ state }) => state === 'MUTED');
  return (
    <div class="actions alert-actions">
      {open.length > 0 && <Action word="Acknowledge" busy="Acknowledging" run={takeOn} />}
      {!isAllMuted && <Snooze about={about} snooze={snooze} />}
      <Action
        word={isAllMuted ? 'Unmute' : 'Mute'}
        busy="Saving"
        title={
          isAllMuted ? undefined : 'No notifications about these monitors until they are unmuted'
        }
        run={() => mute(!isAllMuted)}
      />
      <span class="under" role="status">
        {message}
      </span>
    </div>
  );
}
