/** From a fresh installation to the first alert that somebody has received. */
import type { CheckOverview } from '../contract.ts';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { count } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Action } from '../parts/layout.tsx';
import { useAttempt } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { endFirstSteps } from '../saved-views.ts';
import { isPinged } from '../state.ts';
import { destinationOf } from '../views/channels.tsx';
import { placesOfNew } from './create-line.ts';
import { FirstCheck } from './first-check.tsx';

const lookEveryMs = 5_000;

function Step({
  isDone,
  title,
  children,
}: {
  isDone: boolean;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <li class="first-step">
      <h2>
        <State tone={isDone ? 'good' : 'quiet'} word={isDone ? 'Done' : 'To do'} /> {title}
      </h2>
      {children}
    </li>
  );
}

type AlertingCheck = {
  id: string;
  name: string;
  groupId: number | null;
  alertChannelSubscriptions?: { activated: boolean }[];
};

export function FirstSteps({ checks }: { checks: CheckOverview[] }) {
  const { mayAct } = useMe();
  const { data: places = [] } = useQuery('v1/private-locations', { everyMs: lookEveryMs });
  const { data: channels = [] } = useQuery('v1/alert-channels', { query: { limit: 100 } });
  const [channel] = channels;
  const sent = useQuery('v1/alert-notifications', { query: { limit: 5 }, everyMs: 10_000 });
  const whole = useQuery(channel === undefined ? null : 'v1/checks', { query: { limit: 10 } });
  const [tested, setTested] = useState('');
  const [isEnded, setEnded] = useState(false);
  const [problem, attempt] = useAttempt();

  const served = places.find(({ agentCount }) => (agentCount ?? 0) > 0);
  const isServed =
    served !== undefined ||
    checks.some(({ locations, unservedLocations }) => locations.length > unservedLocations.length);
  const [place] = placesOfNew(places);
  const nowhere = checks.filter(
    (check) => !isPinged(check) && check.locations.length === 0 && check.groupId === null,
  );
  const silent = ((whole.data ?? []) as AlertingCheck[]).filter(
    ({ alertChannelSubscriptions: to, groupId }) =>
      groupId === null && !to?.some(({ activated }) => activated),
  );
  const arrived = sent.data?.find(({ status }) => status === 'SUCCESS');
  const isReceived = isEnded || arrived !== undefined;
  const isDone = isServed && checks.length > nowhere.length && isReceived;
  // The page may be left as soon as it says so.
  useLayoutEffect(() => {
    if (isDone) endFirstSteps();
  }, [isDone]);

  const change = (those: { id: string }[], body: object) =>
    attempt(async () => {
      for (const { id } of those)
        await call(`v1/checks/${id}`, { method: 'PUT', body: { ...body } });
    });
  const test = attempt(async () => {
    const { data } = await call(`v1/alert-channels/${encodeURIComponent(channel?.id ?? '')}/test`, {
      method: 'POST',
    });
    if (data.status === 'FAILURE') throw new Error(data.result ?? 'it could not be sent');
    setTested(data.result ?? 'sent');
  });

  return (
    <section class="card first-steps" aria-label="First steps">
      {problem}
      <ol>
        <Step isDone={isServed} title="An agent that runs monitors">
          {isServed ? (
            served && <p>{`${served.name}: ${count(served.agentCount ?? 0, 'agent')}.`}</p>
          ) : (
            <p>
              <code>control-plane serve --with-agent</code> starts one on the machine of the control
              plane.{' '}
              {places[0] === undefined ? (
                mayAct('ADMIN') && (
                  <>
                    For any other network, <a href={link('new', 'location')}>make a location</a>: it
                    shows the lines that start an agent there.
                  </>
                )
              ) : (
                <>
                  <a
                    href={link('locations', places[0].id)}
                  >{`Start an agent for ${places[0].name}`}</a>{' '}
                  with the lines shown there.
                </>
              )}
            </p>
          )}
        </Step>
        <Step isDone={checks.length > nowhere.length} title="A monitor">
          {checks.length === 0 &&
            (isServed ? (
              <FirstCheck />
            ) : (
              <p class="muted">As soon as an agent is there to run it.</p>
            ))}
          {nowhere.length > 0 && (
            <p>
              {`${nowhere.map(({ name }) => name).join(', ')}: nobody runs it, as it has no location. `}
              {place !== undefined && (
                <Action
                  word={`Run it at ${places.find(({ slugName }) => slugName === place)?.name ?? place}`}
                  busy="Saving"
                  run={change(nowhere, { privateLocations: [place] })}
                />
              )}
            </p>
          )}
        </Step>
        <Step isDone={isReceived} title="The first alert received">
          {channel === undefined ? (
            <p>
              <a href={link('new', 'channel')}>Choose where alerts go</a>.
            </p>
          ) : (
            !isReceived && (
              <p>
                {`To ${destinationOf(channel) || channel.type}: `}
                <Action word="Send a test alert" busy="Sending" run={test} />{' '}
                {tested !== '' && (
                  <>
                    <span role="status">{`Sent: ${tested}. `}</span>
                    <button type="button" class="primary" onClick={() => setEnded(true)}>
                      I received it
                    </button>
                  </>
                )}
              </p>
            )
          )}
          {channel !== undefined && silent.length > 0 && (
            <p>
              {`${silent.map(({ name }) => name).join(', ')}: nobody is notified. `}
              <Action
                word={`Alert ${destinationOf(channel) || channel.type}`}
                busy="Saving"
                run={change(silent, {
                  alertChannelSubscriptions: [{ alertChannelId: channel.id, activated: true }],
                })}
              />
            </p>
          )}
        </Step>
      </ol>
      {isDone && <p role="status">Everything works. These steps are not shown again.</p>}
    </section>
  );
}
