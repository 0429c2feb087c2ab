/** Receivers of the Alertmanager become alert channels. */
import { addresses, Channels, type ChannelBody } from '../channels.ts';
import { slug, type Entry, type Plan, type Ref } from '../plan.ts';
import { lookUp, SourceObject, type Fields, textOf } from '../source-object.ts';
import { recordsIn } from './files.ts';

type Kind = (config: SourceObject, name: string) => ChannelBody[];

/** By the list of a receiver; the others have no counterpart. */
const kinds: Readonly<Record<string, { make: Kind; secrets: number }>> = {
  email_configs: {
    secrets: 0,
    make: (config) =>
      addresses(config.text('to')).map((address) => ({ type: 'EMAIL', config: { address } })),
  },
  slack_configs: {
    secrets: 1,
    make: (config) => {
      const channel = config.text('channel');
      return [
        {
          type: 'SLACK',
          config: { url: config.text('api_url'), ...(channel === '' ? {} : { channel }) },
        },
      ];
    },
  },
  pagerduty_configs: {
    secrets: 1,
    make: (config, name) => {
      const routing = config.text('routing_key');
      const serviceKey = routing === '' ? config.text('service_key') : routing;
      return [{ type: 'PAGERDUTY', config: { serviceName: name, serviceKey } }];
    },
  },
  opsgenie_configs: {
    secrets: 1,
    make: (config, name) => [
      {
        type: 'OPSGENIE',
        config: { name, apiKey: config.text('api_key'), region: 'US', priority: 'P3' },
      },
    ],
  },
  webhook_configs: {
    secrets: 1,
    make: (config, name) => [
      { type: 'WEBHOOK', config: { name, url: config.text('url'), method: 'POST' } },
    ],
  },
};

/** A channel without its target cannot exist. */
function isWhole({ config }: ChannelBody): boolean {
  return Object.values(config).every((value) => value !== '');
}

function readReceiver(
  plan: Plan,
  entry: Entry,
  receiver: Fields,
): { id: string; body: ChannelBody }[] {
  const name = textOf(receiver['name'] ?? '');
  const found: { id: string; body: ChannelBody }[] = [];
  for (const [list, given] of Object.entries(receiver)) {
    if (list === 'name') continue;
    const kind = lookUp(kinds, list);
    if (kind === undefined) {
      entry.notCarried(`\`${list}\` has no counterpart`);
      continue;
    }
    for (const [index, fields] of recordsIn(given).entries()) {
      const config = new SourceObject(fields, { send_resolved: list !== 'email_configs' });
      const sendRecovery = config.flag('send_resolved');
      for (const body of kind.make(config, name)) {
        if (!isWhole(body)) {
          entry.notCarried(`\`${list}\`: its target is in another file or in \`global\``);
          continue;
        }
        plan.channelSecrets += kind.secrets;
        if (body.type === 'WEBHOOK')
          entry.approximate('the webhook posts another body: adapt what receives it');
        const part =
          body.type === 'EMAIL' ? slug(textOf(body.config['address'])) : textOf(index + 1);
        found.push({
          id: `receiver-${slug(name)}-${body.type.toLowerCase()}-${part}`,
          body: { ...body, sendRecovery },
        });
      }
      entry.leftovers(config);
    }
  }
  return found;
}

export interface Receivers {
  /** Subscribes a check to the receiver of the root route. */
  subscribe(check: Ref): void;
}

export function readReceivers(
  plan: Plan,
  receivers: readonly Fields[],
  route: Fields | null,
): Receivers {
  const channels = new Channels(plan);
  const root = textOf(route?.['receiver'] ?? '');
  const rootChannels: { id: string; body: ChannelBody }[] = [];
  for (const receiver of receivers) {
    const name = textOf(receiver['name'] ?? '');
    const entry = plan.entry('receiver', name, name, receiver);
    const found = readReceiver(plan, entry, receiver);
    if (name === root) rootChannels.push(...found);
    else {
      for (const { id, body } of found) channels.channel(id, body);
      if (found.length > 0)
        entry.notCarried('no check is subscribed to it: routes are not carried over');
    }
  }
  const lost = Object.keys(route ?? {}).filter((key) => key !== 'receiver');
  if (lost.length > 0) {
    plan.say(
      'NOT_CARRIED',
      `Route of the Alertmanager: ${lost.map((key) => `\`${key}\``).join(', ')}. Every check that a rule alerts about is subscribed to \`${root}\`.`,
    );
  }
  return {
    subscribe: (check) => {
      for (const { id, body } of rootChannels) channels.subscribe(check, id, body);
    },
  };
}
