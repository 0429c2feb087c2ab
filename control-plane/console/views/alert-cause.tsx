/** The row of an alert: its cause in a sentence, and opened its timeline and its checks. */
import type { ComponentChildren } from 'preact';
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { count, inWords } from '../format.ts';
import { useMe } from '../me.ts';
import { alertState } from '../parts/decisions.tsx';
import { State } from '../parts/icons.tsx';
import { Action, type Columns } from '../parts/layout.tsx';
import { Answer, Empty, useAttempt } from '../parts/notices.tsx';
import { RootCauses } from '../parts/root-causes.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { AlertActions, useActions, type Cause } from './alert-actions.tsx';
import { destinationOf, useChannelNames } from './channels.tsx';

type Detail = DataAt<`v1/alert-overview/${string}`>;
type Event = Detail['timeline'][number];

export const stateWords: Record<Cause['state'], string> = {
  OPEN: 'Open',
  SNOOZED: 'Snoozed',
  ACKNOWLEDGED: 'Acknowledged',
  MUTED: 'Muted',
  NOTICE: 'Certificate',
  OVER: 'Resolved',
};

function toneOf({ state, outages }: Cause) {
  if (state === 'OVER') return 'good';
  if (state === 'MUTED') return 'quiet';
  return alertState(outages[0]?.alertType ?? 'NO_ALERT').tone;
}

/** "3 of 17 monitors are failing: the host a.example". */
export function sentenceOf({ state, cause, outages }: Cause) {
  const [first] = outages;
  if (first === undefined) return '';
  if (state === 'NOTICE') return `The certificate of ${first.name} expires`;
  const isOver = state === 'OVER';
  const problem = outages.some(({ alertType }) => !alertType.includes('DEGRADED'))
    ? 'failing'
    : 'degraded';
  if (outages.length === 1) return `${first.name} ${isOver ? 'was' : 'is'} ${problem}`;
  const lasting = outages.filter((one) => one.state !== 'OVER').length;
  const some = isOver || lasting === outages.length ? '' : `${lasting} of `;
  const all = count(outages.length, 'monitor');
  return `${some}${all} ${isOver ? 'were' : 'are'} ${problem}: ${cause?.text ?? 'several causes'}`;
}

/** "by Ada", of a snooze with its end. */
function By({ by, until }: { by: string; until: string | null }) {
  return (
    <span>
      {until !== null && (
        <>
          until <Time at={until} />{' '}
        </>
      )}
      by {by}
    </span>
  );
}

function Notified({ cause: { notified } }: { cause: Cause }) {
  const nameOf = useChannelNames();
  if (notified.length === 0) return 'nobody';
  return notified.map(({ alertChannelId: id, type, failed }) => (
    <span key={id}>
      {nameOf(id, `${inWords(type)} ${id}`)}
      {failed > 0 && <span class="bad"> {failed} not delivered</span>}
    </span>
  ));
}

const namesOf = ({ checks, more }: Event) =>
  checks.map(({ name }) => name).join(', ') + (more > 0 ? ` and ${more} more` : '');

function Notification({ event }: { event: Event }) {
  const { mayWrite } = useMe();
  const [problem, attempt] = useAttempt();
  const { notification: one, text } = event;
  if (one === null) return null;
  const to = destinationOf({ type: one.type, config: one.alertConfig }) || one.alertChannelId;
  const isFailed = one.status === 'FAILURE';
  const word = { SUCCESS: 'Notified', IN_PROGRESS: 'Notifying' }[String(one.status)];
  return (
    <>
      <span class={isFailed ? 'bad' : ''}>{word ?? inWords(one.status)}</span> {inWords(one.type)}{' '}
      {to}
      {isFailed && text !== null && `: ${text}`}{' '}
      {isFailed && mayWrite && (
        <Action
          word="Send again"
          busy="Sending"
          run={attempt(async () => {
            await call(`v1/alert-notifications/${one.id}/redeliver`, { method: 'POST' });
          })}
        />
      )}
      {problem}
    </>
  );
}

function whatOf(event: Event): ComponentChildren {
  const { kind, alertType, acknowledgement, text } = event;
  if (kind === 'NOTIFICATION') return <Notification event={event} />;
  if (kind === 'ESCALATION') return text;
  if (acknowledgement !== null) {
    return (
      <>
        {inWords(acknowledgement.kind)} <By {...acknowledgement} />
      </>
    );
  }
  const { tone, word } = alertState(alertType ?? 'NO_ALERT');
  return (
    <>
      <State tone={tone} word={word} /> {namesOf(event)}
      {text !== null && `: ${text}`}
    </>
  );
}

const maxListed = 20;

function Opened({ cause }: { cause: Cause }) {
  const read = useQuery(`v1/alert-overview/${encodeURIComponent(cause.id)}`, { everyMs: 20_000 });
  const [areAll, showAll] = useState(false);
  const { outages } = cause;
  return (
    <>
      <AlertActions causes={[cause]} about={sentenceOf(cause)} />
      {Answer({
        read,
        what: 'Loading the timeline',
        isEmpty: ({ timeline }) => timeline.length === 0,
        empty: <Empty title="Nothing more is known about it" />,
        children: ({ timeline, alsoFailing, rootCauses }) => (
          <>
            <RootCauses causes={rootCauses} />
            <ol class="timeline" aria-label="Timeline">
              {timeline.map((event, index) => (
                <li key={`${event.at} ${index}`}>
                  <Time at={event.at} />
                  <span class="breakable">{whatOf(event)}</span>
                </li>
              ))}
            </ol>
            {alsoFailing !== null && (
              <p>
                Also failing since then: {alsoFailing.names.join(', ')}
                {alsoFailing.more > 0 && ` and ${alsoFailing.more} more`}.
              </p>
            )}
          </>
        ),
      })}
      <ul class="alert-checks" aria-label="Monitors">
        {outages.slice(0, areAll ? undefined : maxListed).map((one) => (
          <li key={one.checkAlertId}>
            <a href={link('checks', one.checkId)}>{one.name}</a>
            <span class="under breakable">
              <span>{stateWords[one.state]}</span>
              <span>{one.runLocation}</span>
              {one.error !== outages[0]?.error && one.error}
            </span>
          </li>
        ))}
      </ul>
      {!areAll && outages.length > maxListed && (
        <button type="button" onClick={() => showAll(true)}>
          Show all {outages.length} monitors
        </button>
      )}
    </>
  );
}

/** Without `picking` it cannot be selected. */
export function CauseRow({
  cause,
  picking,
  isOpened = false,
}: {
  cause: Cause;
  picking?: { isPicked: boolean; onPick: () => void } | undefined;
  isOpened?: boolean;
}) {
  const { mayWrite } = useMe();
  const [isShown, setShown] = useState(isOpened);
  const { acknowledge, message } = useActions([cause]);
  const { state, acknowledgement, maintenance, outages } = cause;
  const error = outages.find((one) => one.error !== null)?.error;
  const sentence = sentenceOf(cause);
  return (
    <>
      <tr>
        <td class="pick">
          {picking && (
            <input
              type="checkbox"
              checked={picking.isPicked}
              aria-label={`Select ${sentence}`}
              onClick={picking.onPick}
            />
          )}
        </td>
        <td class="state-cell">
          <State tone={toneOf(cause)} word={stateWords[state]} />
        </td>
        <th scope="row">
          <button
            type="button"
            class="plain-button"
            aria-expanded={isShown}
            onClick={() => setShown(!isShown)}
          >
            {sentence}
          </button>
          <span class="under breakable">
            {state !== 'OVER' && acknowledgement !== null && (
              <span>
                {stateWords[state]} <By {...acknowledgement} />
              </span>
            )}
            {maintenance !== null && (
              <span>
                Maintenance “{maintenance.name}” until <Time at={maintenance.endsAt} />
              </span>
            )}
            {error}
            <span class="narrow-only">
              <Ago at={cause.startedAt} />
              {cause.endedAt !== null && (
                <>
                  {', resolved '}
                  <Ago at={cause.endedAt} />
                </>
              )}
            </span>
          </span>
        </th>
        <td class="wide-only nowrap">
          <Ago at={cause.startedAt} />
          {cause.endedAt !== null && (
            <span class="under">
              resolved <Ago at={cause.endedAt} />
            </span>
          )}
        </td>
        <td class="wide-only">
          <span class="under breakable">
            <Notified cause={cause} />
          </span>
        </td>
        <td class="right wide-only">
          {state === 'OPEN' && mayWrite && !isShown && (
            <Action word="Acknowledge" busy="Acknowledging" run={acknowledge} />
          )}
          {message !== '' && state === 'OPEN' && (
            <span class="under bad" role="status">
              {message}
            </span>
          )}
        </td>
      </tr>
      {isShown && (
        <tr>
          <td colspan={6}>
            <Opened cause={cause} />
          </td>
        </tr>
      )}
    </>
  );
}

export const causeColumns: Columns = [
  '',
  'State',
  'Alert',
  ...['Since', 'Notified', ''].map((word): [string, string] => [word, 'wide-only']),
];
