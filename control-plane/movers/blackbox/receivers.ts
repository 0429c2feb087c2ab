/** Receivers and routes of the Alertmanager become alert channels and their subscriptions. */
import { isFields } from '@monitor/shared/fields.ts';
import * as channels from '../channels.ts';
import { slug, type Entry, type Plan, type Ref } from '../plan.ts';
import { lookUp, placeOf, recordsIn, SourceObject, textOf, type Fields } from '../source-object.ts';
import type { ProbeFiles } from './files.ts';
import { matcherOf, type Labels, type Matcher } from './relabel.ts';

type Kind = (config: SourceObject, name: string, global: SourceObject) => channels.ChannelBody[];

/** By the list of a receiver; the others have no counterpart. */
const kinds: Readonly<Record<string, Kind>> = {
  email_configs: (config) => channels.emails(config.text('to')),
  slack_configs: (config, _name, global) => {
    const url = config.text('api_url') || global.text('slack_api_url');
    return [channels.slack(url, config.text('channel'))];
  },
  pagerduty_configs: (config, serviceName) => {
    const serviceKey = config.text('routing_key') || config.text('service_key');
    return [{ type: 'PAGERDUTY', config: { serviceName, serviceKey } }];
  },
  opsgenie_configs: (config, name, global) => {
    const apiKey = config.text('api_key') || global.text('opsgenie_api_key');
    const url = config.text('api_url') || global.text('opsgenie_api_url');
    return [channels.opsgenie(name, apiKey, url.includes('.eu.'), 'P3')];
  },
  webhook_configs: (config, name) => [
    { type: 'WEBHOOK', config: { name, url: config.text('url'), method: 'POST' } },
  ],
};

function readReceiver(
  plan: Plan,
  entry: Entry,
  receiver: Fields,
  global: SourceObject,
): channels.Channel[] {
  const name = textOf(receiver['name']);
  const found: channels.Channel[] = [];
  for (const [list, given] of Object.entries(receiver)) {
    if (list === 'name') continue;
    const make = lookUp(kinds, list);
    if (make === undefined) entry.notCarried(`\`${list}\` has no counterpart`);
    for (const [index, fields] of make === undefined ? [] : recordsIn(given).entries()) {
      const config = new SourceObject(fields, { send_resolved: list !== 'email_configs' });
      const sendRecovery = config.flag('send_resolved');
      for (const body of make?.(config, name, global) ?? []) {
        // A channel without its target cannot exist.
        if (Object.values(body.config).includes('')) {
          entry.notCarried(`\`${list}\`: its target is in another file or in \`global\``);
          continue;
        }
        const isWebhook = body.type === 'WEBHOOK';
        entry.approximate(isWebhook && 'the webhook posts another body: adapt what receives it');
        const address = textOf(body.config['address']);
        const part = body.type === 'EMAIL' ? slug(address) : textOf(index + 1);
        const wanted = `receiver-${slug(name)}-${body.type.toLowerCase()}-${part}`;
        const id = plan.idFor(wanted, `${name}\n${address}`, entry);
        found.push({ id, body: { ...body, sendRecovery } });
      }
      entry.leftovers(config);
    }
  }
  return found;
}

const written =
  /\s*("[^"]+"|[^\s"=!~{},]+)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|[^\s",{}]*)\s*(?:,|$)/gsy;

/** Those of a text such as `team="shop", severity=~"page|mail"`; null for another text. */
function matchersIn(text: string): Matcher[] | null {
  const inner = text.trim().replace(/^\{(.*)\}$/s, '$1');
  const found = [...inner.matchAll(written)];
  const plain = (word: string) => word.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/gs, '$1');
  if (found.length === 0 || found.map(([whole]) => whole).join('') !== inner) return null;
  return found.map(([, label = '', how = '', value = '']) =>
    matcherOf(plain(label), how, plain(value)),
  );
}

interface Route {
  receiver: string;
  matches: Matcher;
  goesOn: boolean;
  routes: Route[];
}

function readRoute(plan: Plan, given: Fields, inherited: string, lost: Set<string>): Route {
  const route = new SourceObject(given);
  const receiver = route.text('receiver') || inherited;
  const texts = route.texts('matchers').map((text) => matchersIn(text));
  const how = 'its `matchers` are not understood, so no alert takes it.';
  const lostRoute = `Route to \`${receiver}\` (${placeOf(given) ?? ''}): ${how}`;
  plan.say('NOT_CARRIED', texts.includes(null) && lostRoute);
  const matchers = [
    ...route.pairs('match').map(([label, value]) => matcherOf(label, '=', value)),
    ...route.pairs('match_re').map(([label, value]) => matcherOf(label, '=~', value)),
    ...texts.map((read) => (labels: Labels) => read?.every((one) => one(labels)) ?? false),
  ];
  const made = {
    receiver,
    matches: (labels: Labels) => matchers.every((one) => one(labels)),
    goesOn: route.flag('continue'),
    routes: route.records('routes').map((one) => readRoute(plan, one, receiver, lost)),
  };
  for (const field of route.unread()) lost.add(`\`${field}\``);
  return made;
}

/** Receivers of an alert: those of the first route within a route that matches, and of the next after `continue`. */
function receiversOf(route: Route, labels: Labels): string[] {
  const found: string[] = [];
  for (const inner of route.routes.filter(({ matches }) => matches(labels))) {
    found.push(...receiversOf(inner, labels));
    if (!inner.goesOn) return found;
  }
  return found.length === 0 ? [route.receiver] : found;
}

export interface Receivers {
  /** Subscribes a check to the receivers of its alerts. */
  subscribe(check: Ref, alerts: readonly Labels[]): void;
  /** Receivers that nothing is routed to. */
  settle(): void;
}

export function readReceivers(plan: Plan, { receivers, route, global }: ProbeFiles): Receivers {
  const lost = new Set<string>();
  const root = isFields(route) ? readRoute(plan, route, '', lost) : null;
  const made = receivers.map((receiver) => {
    const name = textOf(receiver['name']);
    const entry = plan.entry('receiver', name, name, receiver);
    return { name, entry, found: readReceiver(plan, entry, receiver, new SourceObject(global)) };
  });
  const others = `Route of the Alertmanager: ${[...lost].join(', ')}.`;
  plan.say('NOT_CARRIED', lost.size > 0 && others);
  const used = new Set<string>();
  let unheard = 0;
  return {
    subscribe(check, alerts) {
      const names = new Set(root === null ? [] : alerts.flatMap((one) => receiversOf(root, one)));
      for (const name of names) used.add(name);
      const found = made.filter(({ name }) => names.has(name)).flatMap((one) => one.found);
      if (found.length === 0) unheard += 1;
      for (const channel of found) channels.subscribe(plan, check, channel);
    },
    settle() {
      for (const { name, entry, found } of made) {
        if (used.has(name) || found.length === 0) continue;
        for (const channel of found) channels.addChannel(plan, channel);
        entry.notCarried('no check is subscribed to it: no alert of the rules is routed to it');
      }
      if (unheard === 0) return;
      const [who, whom] = unheard === 1 ? ['check alerts', 'it'] : ['checks alert', 'them'];
      const why = `the files have no receiver for ${whom} that is carried over.`;
      plan.say('NOT_CARRIED', `${unheard} ${who} nobody: ${why}`);
    },
  };
}
