/** Alert channels, with a test button. */
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { toProblem } from '../problem.ts';
import { count, inWords } from '../format.ts';
import { useMe } from '../me.ts';
import { Action, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, wordsOf } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';

type AlertChannel = DataAt<'v1/alert-channels'>[number];

/** Only the host: the rest of such an address is often secret. */
function hostOf(url: unknown) {
  try {
    return new URL(String(url)).host;
  } catch {
    return url;
  }
}

/** Destination of a channel as people know it; empty when its settings do not say. */
export function destinationOf({ type, config }: Pick<AlertChannel, 'type' | 'config'>) {
  switch (type) {
    case 'EMAIL':
      return String(config.address ?? '');
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
      return String(config.name ?? '');
  }
}

/** Gives the destination of a channel by its id; `otherwise` for one that is not listed. */
export function useChannelNames() {
  const { data: channels = [] } = useQuery('v1/alert-channels', { query: { limit: 100 } });
  return (id: number, otherwise: string): string => {
    const channel = channels.find((one) => one.id === id);
    return (channel && destinationOf(channel)) || otherwise;
  };
}

function tellsOf(channel: AlertChannel) {
  const events = [
    [channel.sendFailure, 'failures'],
    [channel.sendDegraded, 'degradations'],
    [channel.sendRecovery, 'recoveries'],
    [channel.sslExpiry, `certificates ${channel.sslExpiryThreshold} days ahead`],
    [channel.sentByAgents, 'an unreachable control plane'],
  ];
  return events.flatMap(([isOn, word]) => (isOn ? [word] : [])).join(', ') || 'nothing';
}

function Channel({ channel }: { channel: AlertChannel }) {
  const me = useMe();
  const [outcome, setOutcome] = useState<{ isBad: boolean; text: string } | null>(null);
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
  return (
    <tr>
      <td>{inWords(channel.type)}</td>
      <th scope="row">
        <a href={link('edit', 'channel', channel.id)}>
          {destinationOf(channel) || inWords(channel.type)}
        </a>
        <span class="under">
          notifies of {tellsOf(channel)}
          {channel.autoSubscribe && <span class="tag">added to new monitors</span>}
        </span>
      </th>
      <td class="wide-only">{count(users, 'monitor or group', 'monitors and groups')}</td>
      <td>
        <Action
          word="Send a test"
          busy="Sending"
          run={test}
          disabled={!me.mayWrite}
          title={me.mayWrite ? undefined : 'The role of this key may not send tests'}
        />
        {outcome !== null && (
          <span class={`under ${outcome.isBad ? 'bad' : 'good'}`} role="status">
            {outcome.text}
          </span>
        )}
      </td>
    </tr>
  );
}

export function Channels() {
  const read = useQuery('v1/alert-channels', { query: { limit: 100 } });
  const { mayWrite } = useMe();
  return (
    <Section
      title="Channels"
      aside={
        mayWrite && (
          <a class="button" href={link('new', 'channel')}>
            New channel
          </a>
        )
      }
    >
      {List({
        read,
        label: 'Channels',
        columns: ['Type', 'Destination', ['Used by', 'wide-only'], 'Test'],
        pick: (all) => all,
        row: (channel) => <Channel key={channel.id} channel={channel} />,
        empty: (
          <Empty title="No alert channels: nobody is notified">
            <a href={link('new', 'channel')}>Create one</a>.
          </Empty>
        ),
      })}
    </Section>
  );
}
