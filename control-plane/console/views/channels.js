/** Alert channels, with a test button. */
/** @import { DataAt } from '../contract.ts' */
import { html, useState } from '../dom.js';
import { call, toProblem } from '../api.js';
import { count, inWords } from '../format.js';
import { useMe } from '../me.js';
import { Action, Section } from '../parts/layout.js';
import { List, allOf } from '../parts/list.js';
import { Empty, wordsOf } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';

/** @typedef {DataAt<'v1/alert-channels'>[number]} AlertChannel */

/**
 * Only the host: the rest of such an address is often secret.
 * @param {unknown} url
 */
function hostOf(url) {
  try {
    return new URL(String(url)).host;
  } catch {
    return url;
  }
}

/**
 * Destination of a channel as people know it; empty when its settings do not say.
 * @param {Pick<AlertChannel, 'type' | 'config'>} channel
 */
export function destinationOf({ type, config }) {
  switch (type) {
    case 'EMAIL':
      return config.address;
    case 'SLACK':
      return [config.channel, hostOf(config.url)].filter(Boolean).join(' at ');
    case 'SLACK_APP':
      return [config.slackChannels].flat().join(', ');
    case 'WEBHOOK':
      return [config.name, hostOf(config.url)].filter(Boolean).join(', ');
    case 'SMS':
    case 'CALL':
      return [config.name, config.number].filter(Boolean).join(', ');
    case 'PAGERDUTY':
      return [config.serviceName, config.account].filter(Boolean).join(', ');
    default:
      return config.name ?? '';
  }
}

/** @param {AlertChannel} channel */
function tellsOf(channel) {
  const events = [
    [channel.sendFailure, 'failures'],
    [channel.sendDegraded, 'degradations'],
    [channel.sendRecovery, 'recoveries'],
    [channel.sslExpiry, `certificates ${channel.sslExpiryThreshold} days ahead`],
  ];
  return events.flatMap(([isOn, word]) => (isOn ? [word] : [])).join(', ') || 'nothing';
}

/** @param {{ channel: AlertChannel }} props */
function Channel({ channel }) {
  const me = useMe();
  const [outcome, setOutcome] = useState(
    /** @type {{ isBad: boolean, text: string } | null} */ (null),
  );
  const test = async () => {
    try {
      const { data } = await call(`v1/alert-channels/${encodeURIComponent(channel.id)}/test`, {
        method: 'POST',
      });
      const word = data.status === 'SUCCESS' ? 'Sent' : inWords(data.status);
      const text = data.result === null ? word : `${word}: ${data.result}`;
      setOutcome({ isBad: data.status === 'FAILURE', text });
    } catch (error) {
      setOutcome({ isBad: true, text: wordsOf(toProblem(error)) });
    }
  };
  const users = channel.subscriptions.filter(({ activated }) => activated).length;
  return html`<tr>
    <td>${inWords(channel.type)}</td>
    <th scope="row">
      <a href=${link('edit', 'channel', channel.id)}>${destinationOf(channel) || inWords(channel.type)}</a>
      <span class="under">
        notifies of ${tellsOf(channel)}
        ${channel.autoSubscribe && html`<span class="tag">new checks use it</span>`}
      </span>
    </th>
    <td class="wide-only">${count(users, 'check or group', 'checks and groups')}</td>
    <td>
      <${Action}
        word="Send a test"
        busy="Sending"
        run=${test}
        disabled=${!me.mayWrite}
        title=${me.mayWrite ? undefined : 'The role of this key may not send tests'}
      />
      ${
        outcome !== null &&
        html`<span class=${`under ${outcome.isBad ? 'bad' : 'good'}`} role="status"
          >${outcome.text}</span
        >`
      }
    </td>
  </tr>`;
}

export function Channels() {
  const read = useQuery('v1/alert-channels', { query: { limit: 100 } });
  const { mayWrite } = useMe();
  return html`<${Section}
    title="Channels"
    aside=${mayWrite && html`<a class="button" href=${link('new', 'channel')}>New channel</a>`}
  >
    ${List({
      read,
      label: 'Channels',
      columns: ['Type', 'Goes to', ['Used by', 'wide-only'], 'Try it'],
      pick: allOf,
      row: (channel) => html`<${Channel} key=${channel.id} channel=${channel} />`,
      empty: html`<${Empty} title="No channels: nobody is notified">
        <a href=${link('new', 'channel')}>Create one</a>.
      <//>`,
    })}
  <//>`;
}
