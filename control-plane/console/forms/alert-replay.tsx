/** What a check would have alerted about in the last weeks with the alert settings in the form. */
import { Refusal } from '../parts/notices.tsx';
import type { DataAt } from '../contract.ts';
import type { Values } from './values.ts';
import { count, inWords } from '../format.ts';
import { Time } from '../parts/time.tsx';
import { link } from '../router.ts';
import { usePreview } from './preview.ts';

type Replay = DataAt<`v1/check-alerts/${string}/replay`, 'POST'>;

const days = 30;
const listed = 10;

function sumOf({ alerts, reminders }: Replay['given']) {
  return reminders === 0
    ? count(alerts, 'alert')
    : `${count(alerts, 'alert')} and ${count(reminders, 'reminder')}`;
}

export function AlertReplay({ id, values }: { id: string; values: Values }) {
  const { alertSettings, useGlobalAlertSettings } = values;
  const { data: replay, problem } = usePreview(`v1/check-alerts/${id}/replay`, {
    alertSettings,
    useGlobalAlertSettings,
    days,
  });
  if (replay === null) return <Refusal text={problem} />;
  const { given, current, runs, from } = replay;
  const [now, before] = [sumOf(given), sumOf(current)];
  return (
    <section class="card" aria-labelledby="replay">
      <h2 id="replay">What would have alerted</h2>
      <p role="status">
        <strong>{now}</strong>
        {now !== before && <> instead of {before}</>}, from {count(runs, 'run')} since{' '}
        <Time at={from} />.
      </p>
      <Refusal text={problem} />
      <ul>
        {given.newest.slice(0, listed).map(({ alertType, at, reminder, checkResultId }) => (
          <li key={`${at} ${alertType}`}>
            <a href={link('checks', id, 'results', checkResultId)}>
              <Time at={at} />
            </a>{' '}
            {inWords(alertType.replace(/^ALERT_/, ''))}
            {reminder > 0 && `, reminder ${reminder}`}
          </li>
        ))}
      </ul>
    </section>
  );
}
