/** From a fresh installation to the first alert that somebody has received. */
/** @import { CheckOverview } from '../contract.ts' */
/** @import { ComponentChildren } from 'preact' */
import { html, useEffect, useState } from '../dom.js';
import { call } from '../api.js';
import { count } from '../format.js';
import { useMe } from '../me.js';
import { State } from '../parts/icons.js';
import { Action } from '../parts/layout.js';
import { useAttempt } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { endFirstSteps } from '../saved-views.js';
import { isPinged } from '../state.js';
import { destinationOf } from '../views/channels.js';
import { placesOfNew } from './create-line.js';
import { FirstCheck } from './first-check.js';

const lookEveryMs = 5_000;

/** @param {{ isDone: boolean, title: string, children?: ComponentChildren }} props */
function Step({ isDone, title, children }) {
  return html`<li class="first-step">
    <h2><${State} tone=${isDone ? 'good' : 'quiet'} word=${isDone ? 'Done' : 'To do'} /> ${title}</h2>
    ${children}
  </li>`;
}

/**
 * @typedef {{
 *   id: string,
 *   name: string,
 *   groupId: number | null,
 *   alertChannelSubscriptions?: { activated: boolean }[],
 * }} AlertingCheck
 */

/** @param {{ checks: CheckOverview[] }} props */
export function FirstSteps({ checks }) {
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
  const silent = /** @type {AlertingCheck[]} */ (whole.data ?? []).filter(
    ({ alertChannelSubscriptions: to, groupId }) =>
      groupId === null && !to?.some(({ activated }) => activated),
  );
  const arrived = sent.data?.find(({ status }) => status === 'SUCCESS');
  const isReceived = isEnded || arrived !== undefined;
  const isDone = isServed && checks.length > nowhere.length && isReceived;
  useEffect(() => {
    if (isDone) endFirstSteps();
  }, [isDone]);

  const change = (/** @type {{ id: string }[]} */ those, /** @type {object} */ body) =>
    attempt(async () => {
      for (const { id } of those)
        await call(`v1/checks/${id}`, { method: 'PUT', body: { ...body } });
      await whole.reload();
    });
  const test = attempt(async () => {
    const { data } = await call(`v1/alert-channels/${encodeURIComponent(channel?.id ?? '')}/test`, {
      method: 'POST',
    });
    if (data.status === 'FAILURE') throw new Error(data.result ?? 'it could not be sent');
    setTested(data.result ?? 'sent');
  });

  return html`<section class="card first-steps" aria-label="First steps">
    ${problem}
    <ol>
      <${Step} isDone=${isServed} title="An agent that runs checks">
        ${
          isServed
            ? served && html`<p>${`${served.name}: ${count(served.agentCount ?? 0, 'agent')}.`}</p>`
            : html`<p>
                <code>control-plane serve --with-agent</code> starts one on the machine of the
                control plane. ${
                  places[0] === undefined
                    ? mayAct('ADMIN') &&
                      html`For any other network,${' '}
                        <a href=${link('new', 'location')}>make a location</a>: it shows the lines
                        that start an agent there.`
                    : html`<a href=${link('locations', places[0].id)}
                        >${`Start an agent for ${places[0].name}`}</a
                      > with the lines shown there.`
                }
              </p>`
        }
      <//>
      <${Step} isDone=${checks.length > nowhere.length} title="A check">
        ${
          checks.length === 0 &&
          (isServed
            ? html`<${FirstCheck} />`
            : html`<p class="muted">As soon as an agent is there to run it.</p>`)
        }
        ${
          nowhere.length > 0 &&
          html`<p>
            ${`${nowhere.map(({ name }) => name).join(', ')}: nobody runs it, as it has no location. `}
            ${
              place !== undefined &&
              html`<${Action}
                word=${`Run it at ${places.find(({ slugName }) => slugName === place)?.name ?? place}`}
                busy="Saving"
                run=${change(nowhere, { privateLocations: [place] })}
              />`
            }
          </p>`
        }
      <//>
      <${Step} isDone=${isReceived} title="The first alert received">
        ${
          channel === undefined
            ? html`<p><a href=${link('new', 'channel')}>Choose where alerts go</a>.</p>`
            : !isReceived &&
              html`<p>
                ${`To ${destinationOf(channel) || channel.type}: `}
                <${Action} word="Send a test alert" busy="Sending" run=${test} />${' '}
                ${
                  tested !== '' &&
                  html`<span role="status">${`Sent: ${tested}. `}</span>
                    <button type="button" class="primary" onClick=${() => setEnded(true)}>
                      It has arrived
                    </button>`
                }
              </p>`
        }
        ${
          channel !== undefined &&
          silent.length > 0 &&
          html`<p>
            ${`${silent.map(({ name }) => name).join(', ')}: nobody is notified. `}
            <${Action}
              word=${`Alert ${destinationOf(channel) || channel.type}`}
              busy="Saving"
              run=${change(silent, {
                alertChannelSubscriptions: [{ alertChannelId: channel.id, activated: true }],
              })}
            />
          </p>`
        }
      <//>
    </ol>
    ${isDone && html`<p role="status">Everything works. These steps are not shown again.</p>`}
  </section>`;
}
