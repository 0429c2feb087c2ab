/** A heartbeat monitor: its ping address and its pings. */
import type { HeartbeatState } from '@monitor/shared/contract/check-routes.ts';
import type { Check } from '../contract.ts';
import type { Tone } from '../state.ts';
import { duration, inWords } from '../format.ts';
import { Code, CopyButton } from '../parts/code.tsx';
import { State } from '../parts/icons.tsx';
import { Facts, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';

const tones: Record<HeartbeatState, Tone> = {
  ...{ RECEIVED: 'good', EARLY: 'warn', GRACE: 'warn', LATE: 'warn', FAILING: 'bad' },
  ...{ STARTED: 'quiet', LOGGED: 'quiet' },
};

/** Units come in the plural: `count(1, 'days')` is `1 day`. */
const count = (number: number, unit: string) =>
  `${number} ${number === 1 ? unit.replace(/s$/, '') : unit}`;

export function CheckHeartbeat({ check, checkId }: { check: Check | undefined; checkId: string }) {
  const read = useQuery(`v1/checks/heartbeats/${encodeURIComponent(checkId)}/events`, {
    everyMs: 15_000,
  });
  const settings = check?.heartbeat;
  return (
    <Section title="Pings">
      {settings && (
        <Facts
          entries={[
            settings.cron
              ? ['Schedule', `${settings.cron}, ${settings.timezone || 'UTC'}`]
              : ['Expected every', count(settings.period, settings.periodUnit)],
            ['Grace period', count(settings.grace, settings.graceUnit)],
            [
              'Ping URL',
              settings.pingUrl === '' ? (
                <span class="muted">Visible to roles that may write</span>
              ) : (
                <>
                  <span class="mono">{settings.pingUrl}</span>
                  <CopyButton text={settings.pingUrl} />
                </>
              ),
            ],
          ]}
        />
      )}
      {List({
        read,
        label: 'Latest pings',
        columns: ['State', 'Time', 'Duration', 'Source'],
        pick: ([first]) => first?.events ?? [],
        row: (event) => (
          <tr key={event.id}>
            <td>
              <State tone={tones[event.state]} word={inWords(event.state)} />
            </td>
            <th scope="row">
              <Time at={event.timestamp} />
            </th>
            <td>{event.durationMs === null ? '' : duration(event.durationMs)}</td>
            <td class="reason">
              {[event.source, event.userAgent, event.runId].filter(Boolean).join(', ')}
              {event.message !== null && <Code text={event.message} label="Message of the job" />}
            </td>
          </tr>
        ),
        empty: (
          <Empty title="No ping yet">The monitor starts with the first ping of the job.</Empty>
        ),
      })}
    </Section>
  );
}
