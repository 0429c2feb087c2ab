/** Alerting of Gatus: providers with their defaults and overrides, and the alerts of endpoints. */
import * as channels from '../channels.ts';
import { goDuration } from '../decide/go-duration.ts';
import { remindersFor, thresholdFor } from '../decide/retries.ts';
import { unsetText, type FilledVariables } from '../environment.ts';
import { attempt, slug, type Entry, type Plan, type Ref } from '../plan.ts';
import { isFields, type Fields } from '@monitor/shared/fields.ts';
import { fieldsOf, lookUp, recordsIn, SourceObject, textOf } from '../source-object.ts';

/** Null where it cannot exist. */
type Provider = (config: SourceObject, entry: Entry) => channels.ChannelBody[] | null;

const email: Provider = (config, entry) => {
  const ofServer = ['from', 'host', 'port', 'username', 'password', 'client'];
  channels.notCarriedKeys(config, entry, ofServer, channels.ofMailServer);
  return channels.emails(config.text('to'));
};

const webhook =
  (name: string, type: string): Provider =>
  (config) => [channels.typedWebhook(name, config.text('webhook-url'), type)];

const opsgenie: Provider = (config, entry) => {
  const [priority = 'P1'] = /^P[1-5]$/.exec(config.text('priority')) ?? [];
  entry.approximate('the region of Opsgenie is not in the file: US is assumed');
  return [channels.opsgenie('Opsgenie', config.text('api-key'), false, priority)];
};

const custom: Provider = (config, entry) => {
  const [url, body] = [config.text('url'), config.text('body')];
  entry.deactivated(
    (/\[[A-Z_]+\]/.test(url + body) || config.has('placeholders')) &&
      '`custom` fills in placeholders such as [ENDPOINT_NAME]: write them as templates, then switch its subscriptions on',
  );
  config.skip('placeholders');
  const settings = {
    ...{ name: 'custom', url, method: config.text('method').toUpperCase() || 'GET' },
    headers: channels.guardedHeaders(entry, config.pairs('headers')),
    template: body.includes('{{') ? null : body || null,
  };
  return [{ type: 'WEBHOOK', config: settings }];
};

const sms =
  (name: string): Provider =>
  (config, entry) =>
    channels.sms(config, entry, ['to', 'recipients'], name);

/** By the name of the provider; the others are reported. */
const providers: Readonly<Record<string, Provider>> = {
  ...{ email, opsgenie, custom },
  slack: (config) => [channels.slack(config.text('webhook-url'))],
  discord: webhook('Discord', 'WEBHOOK_DISCORD'),
  teams: webhook('Teams', 'WEBHOOK_MSTEAMS'),
  'teams-workflows': webhook('Teams workflow', 'WEBHOOK_MSTEAMS'),
  pagerduty: (config) => [
    { type: 'PAGERDUTY', config: { serviceKey: config.text('integration-key') } },
  ],
  ...{ twilio: sms('Twilio'), vonage: sms('Vonage') },
  ...{ plivo: sms('Plivo'), messagebird: sms('MessageBird') },
};

export interface EndpointAlerts {
  alertSettings: Record<string, unknown>;
  description: string;
  subscribe(check: Ref): void;
}

/** What a provider became, and its id. */
interface Provided {
  id: string;
  entry: Entry;
  bodies: channels.ChannelBody[];
}

const defaults = { enabled: true, 'failure-threshold': 3, 'success-threshold': 2 };

export class Alerting {
  readonly #plan: Plan;
  readonly #providers: Fields;
  readonly #filled: FilledVariables;
  readonly #made = new Map<string, Provided>();
  readonly #used = new Set<string>();

  constructor(plan: Plan, alerting: unknown, filled: FilledVariables) {
    this.#plan = plan;
    this.#filled = filled;
    this.#providers = fieldsOf(alerting);
  }

  #configOf(type: string): Fields | null {
    const config = lookUp(this.#providers, type);
    return isFields(config) ? config : null;
  }

  /** The provider with the override of a group and of an alert, made once. */
  #provide(type: string, group: string, override: Fields, of: string): Provided {
    const config = this.#configOf(type) ?? {};
    const { overrides, 'default-alert': _default, ...own } = config;
    const ofGroup = recordsIn(overrides).find((one) => one['group'] === group);
    this.#used.add(type);
    const { group: _group, ...changes } = ofGroup ?? {};
    const isOwn = Object.keys(override).length > 0;
    const parts = ['alert', type, ...(ofGroup === undefined ? [] : [slug(group)])];
    const owner = JSON.stringify([type, ofGroup === undefined ? null : group, isOwn && of]);
    const id = this.#plan.idFor([...parts, ...(isOwn ? [of] : [])].join('-'), owner);
    const known = this.#made.get(id);
    if (known !== undefined) return known;
    const name = ofGroup === undefined ? type : `${type} of ${group}`;
    const entry = this.#plan.entry('alerting', id, name, config);
    const given = { ...own, ...changes, ...override };
    const made = { id, entry, bodies: attempt(() => this.#bodiesOf(type, entry, given)) ?? [] };
    this.#made.set(id, made);
    return made;
  }

  #bodiesOf(type: string, entry: Entry, given: Fields): channels.ChannelBody[] {
    const unset = this.#filled.unsetIn(given);
    if (unset.length > 0) entry.nothing(unsetText(unset));
    const source = new SourceObject(given);
    const bodies = lookUp(providers, type)?.(source, entry) ?? null;
    const keys = source.names().map((key) => `\`${key}\``);
    const has = keys.join(', ') || 'no fields';
    if (bodies === null) entry.nothing(`channel \`${type}\` has no counterpart; it has ${has}`);
    entry.leftovers(source, { title: `: ${channels.ofLook}` });
    return bodies;
  }

  /** What the alerts of an endpoint become, which runs every `hereSeconds`. */
  of(
    entry: Entry,
    owner: string,
    group: string,
    alerts: unknown,
    intervalSeconds: number,
    hereSeconds: number,
  ): EndpointAlerts {
    const subscriptions: { channel: channels.Channel; activated: boolean }[] = [];
    const thresholds: number[] = [];
    const reminders: number[] = [];
    let description = '';
    for (const given of recordsIn(alerts)) {
      const type = textOf(given['type'] ?? '');
      const config = this.#configOf(type);
      if (config === null) {
        const why = '`alerting` has no such provider, so nothing is sent there either';
        entry.notCarried(`alert \`${type}\`: ${why}`);
        continue;
      }
      const standard = fieldsOf(config['default-alert']);
      this.#filled.unsetIn(standard);
      const alert = new SourceObject({ ...standard, ...given }, defaults);
      alert.skip('type');
      const own = alert.fields('provider-override');
      const { id, bodies, entry: provider } = this.#provide(type, group, own, owner);
      if (bodies.length === 0) entry.basedOn.add(provider);
      const failureThreshold = alert.number('failure-threshold', 3);
      const reminder = goDuration(alert.get('minimum-reminder-interval')) ?? 0;
      if (reminder > 0) reminders.push(reminder);
      description ||= alert.text('description');
      const isOther = description !== alert.text('description') && alert.has('description');
      const isOne = `\`description\` of its alert by \`${type}\`: a check has one description`;
      entry.notCarried(isOther && isOne);
      const successes = alert.number('success-threshold', 2);
      const recovers = `alerts recover after ${successes} successes (\`success-threshold\`)`;
      entry.changed(successes > 1 && `${recovers} → with the first pass`);
      const sendRecovery = alert.flag('send-on-resolved');
      const isOn = alert.flag('enabled');
      // One that is switched off says nothing about when to alert.
      if (bodies.length > 0 && isOn) thresholds.push(failureThreshold);
      entry.leftovers(alert);
      for (const body of bodies) {
        const address = textOf(body.config['address']);
        const parts = [id, slug(address), sendRecovery ? '' : 'without-recovery'];
        const wanted = parts.filter((part) => part !== '').join('-');
        const own = this.#plan.idFor(wanted, JSON.stringify([id, address, sendRecovery]), provider);
        subscriptions.push({
          channel: { id: own, body: { ...body, sendRecovery } },
          activated: isOn && !provider.isDeactivated,
        });
      }
    }
    const failures = thresholds.length === 0 ? 1 : Math.min(...thresholds);
    const threshold = thresholdFor(failures, intervalSeconds, hereSeconds);
    const reminded = remindersFor(reminders.length === 0 ? 0 : Math.min(...reminders));
    const all = `alerts after ${thresholds.join(' and ')} failures → all after ${failures}`;
    entry.changed(new Set(thresholds).size > 1 && all, threshold.change, reminded.change);
    entry.changed(new Set(reminders).size > 1 && 'several reminder intervals → the shortest');
    return {
      alertSettings: { ...threshold.escalation, reminders: reminded.reminders },
      description,
      subscribe: (check) => {
        for (const { channel, activated } of subscriptions) {
          channels.subscribe(this.#plan, check, channel, activated);
        }
      },
    };
  }

  /** Providers that no alert uses. */
  reportUnused(): void {
    for (const type of Object.keys(this.#providers)) {
      if (this.#used.has(type)) continue;
      this.#plan
        .entry('alerting', type, type, this.#configOf(type))
        .notCarried('no endpoint uses this provider. Nothing was created');
    }
  }
}
