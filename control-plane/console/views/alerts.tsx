/** Alerts of all checks, the sent notifications, and the channels. */
import type { DataAt } from '../contract.ts';
import type { Tone } from '../state.ts';
import { useMemo, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem } from '../problem.ts';
import { sixHoursMs as windowMs } from '../facts.ts';
import { inWords, span } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Action, Choice, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, wordsOf } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { choosing, link, type Query } from '../router.ts';
import { destinationOf } from './channels.tsx';
import { Alert, alertColumns, GroupAlerts, GroupChoice, OpenAlerts } from './open-alerts.tsx';

type AlertNotification = DataAt<'v1/alert-notifications'>[number];

const minuteMs = 60_000;

/** Alerts between two instants, or of the last six hours. */
function AlertWindow({ window }: { window: { from: number; to: number } | null }) {
  const read = useQuery('v1/check-alerts', {
    query: {
      limit: 100,
      ...(window === null ? {} : { from: window.from / 1000, to: window.to / 1000 }),
    },
    everyMs: window === null ? 20_000 : null,
  });
  const when =
    window === null
      ? 'in the last six hours'
      : `${span(Date.now() - window.to)} to ${span(Date.now() - window.from)} ago`;
  return List({
    read,
    label: `Alerts ${when}`,
    columns: alertColumns,
    empty: <p class="notice empty">No alerts {when}.</p>,
    pick: (all) => all,
    row: (alert) => <Alert key={alert.id} alert={alert} />,
    after: ({ length }) =>
      (read.total ?? 0) > length && (
        <p class="muted">
          The newest {length} of {read.total}.
        </p>
      ),
  });
}

function Alerts() {
  const [windows, setWindows] = useState(1);
  const now = useMemo(() => Math.floor(Date.now() / minuteMs) * minuteMs, []);
  const older = Array.from({ length: windows - 1 }, (_, index) => now - (index + 1) * windowMs);
  return (
    <>
      <AlertWindow window={null} />
      {older.map((to) => (
        <AlertWindow key={to} window={{ from: to - windowMs, to }} />
      ))}
      <button type="button" class="more" onClick={() => setWindows(windows + 1)}>
        Six hours earlier
      </button>
    </>
  );
}

const tones: Record<AlertNotification['status'], Tone> = {
  IN_PROGRESS: 'quiet',
  SUCCESS: 'good',
  FAILURE: 'bad',
  RATE_LIMITED: 'warn',
};

function Notification({ one, onSent }: { one: AlertNotification; onSent: () => Promise<void> }) {
  const me = useMe();
  const [message, setMessage] = useState('');
  const about = one.checkResultId === null ? [] : ['results', one.checkResultId];
  const sendAgain = async () => {
    try {
      await call(`v1/alert-notifications/${one.id}/redeliver`, { method: 'POST' });
      await onSent();
    } catch (error) {
      setMessage(wordsOf(toProblem(error)));
    }
  };
  return (
    <tr>
      <td>
        <State tone={tones[one.status]} word={inWords(one.status)} />
      </td>
      <th scope="row">
        <Time at={one.timestamp} />
      </th>
      <td>
        {inWords(one.type)}
        <span class="under">{destinationOf({ type: one.type, config: one.alertConfig })}</span>
      </td>
      <td class="nowrap">
        <a href={link('checks', one.checkId, ...about)}>
          {one.checkResultId === null ? 'the check' : 'the result'}
        </a>
      </td>
      <td class="reason">{one.notificationResult ?? ''}</td>
      <td class="right">
        {one.status === 'FAILURE' && me.mayWrite && (
          <Action word="Send again" busy="Sending" run={sendAgain} />
        )}
        {message !== '' && (
          <span class="under bad" role="status">
            {message}
          </span>
        )}
      </td>
    </tr>
  );
}

function Notifications({ query }: { query: Query }) {
  const isFailed = query.notifications === 'failed';
  const read = useQuery('v1/alert-notifications', {
    query: { limit: 50, ...(isFailed ? { hasFailures: true } : {}) },
    everyMs: 30_000,
  });
  const aside = (
    <Choice
      label="Which notifications"
      options={[
        ['', 'All'],
        ['failed', 'Not delivered'],
      ]}
      value={query.notifications ?? ''}
      onChange={choosing('notifications')}
    />
  );
  return (
    <Section title="Notifications of the last day" id="notifications" aside={aside}>
      {List({
        read,
        label: 'Notifications',
        columns: ['Status', 'Sent', 'Channel', 'About', 'Answer', ''],
        pick: (all) => all,
        row: (one) => <Notification key={one.id} one={one} onSent={read.reload} />,
        empty: isFailed ? (
          <Empty title="All were delivered" />
        ) : (
          <Empty title="Nothing was sent">
            A notification goes to every channel that a failing check uses.
          </Empty>
        ),
      })}
    </Section>
  );
}

export function AlertsView({ query }: { query: Query }) {
  return (
    <>
      <h1>Alerts</h1>
      {query.group ? (
        <GroupAlerts id={query.group} />
      ) : (
        <>
          <OpenAlerts />
          <Section title="Recent alerts" aside={<GroupChoice />}>
            <Alerts />
          </Section>
        </>
      )}
      <Notifications query={query} />
    </>
  );
}
