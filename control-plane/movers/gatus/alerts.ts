/** Alerting of Gatus: providers with their defaults and overrides, and the alerts of endpoints. */
import {
  addresses,
  Channels,
  holdsCredential,
  notCarriedKeys,
  type ChannelBody,
} from '../channels.ts';
import { goDuration } from '../decide/go-duration.ts';
import { remindersFor, thresholdFor } from '../decide/retries.ts';
import { slug, type Entry, type Plan, type Ref } from '../plan.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { lookUp, SourceObject, type Fields, textOf } from '../source-object.ts';

interface Provided {
  bodies: ChannelBody[];
  /** False where somebody must adapt the channel first. */
  isReady: boolean;
}

type Provider = (config: SourceObject, entry: Entry) => Provided | null;

const ready = (...bodies: ChannelBody[]): Provided => ({ bodies, isReady: true });

const email: Provider = (config, entry) => {
  notCarriedKeys(
    ...([config, entry, ['from', 'host', 'port', 'username', 'password', 'client']] as const),
    'mail is sent through the mail server of this installation',
  );
  return ready(
    ...addresses(config.text('to')).map((address) => ({ type: 'EMAIL', config: { address } })),
  );
};

const typedWebhook =
  (name: string, webhookType: string): Provider =>
  (config) =>
    ready({
      type: 'WEBHOOK',
      config: { name, url: config.text('webhook-url'), method: 'POST', webhookType },
    });

const opsgeniePriorities = ['P1', 'P2', 'P3', 'P4', 'P5'];

const opsgenie: Provider = (config, entry) => {
  const priority = config.text('priority') || 'P1';
  entry.approximate('the region of Opsgenie is not in the file: US is assumed');
  return ready({
    type: 'OPSGENIE',
    config: {
      name: 'Opsgenie',
      apiKey: config.text('api-key'),
      region: 'US',
      priority: opsgeniePriorities.includes(priority) ? priority : 'P1',
    },
  });
};

const custom: Provider = (config, entry) => {
  const texts = [config.text('url'), config.text('body')];
  const headers = config.get('headers');
  const hasPlaceholder =
    texts.some((text) => /\[[A-Z_]+\]/.test(text)) || config.has('placeholders');
  if (hasPlaceholder) {
    entry.deactivated(
      '`custom` fills in placeholders such as [ENDPOINT_NAME]: write them as templates, then switch its subscriptions on',
    );
  }
  config.get('placeholders');
  return {
    bodies: [
      {
        type: 'WEBHOOK',
        config: {
          name: 'custom',
          url: config.text('url'),
          method: config.text('method').toUpperCase() || 'GET',
          headers: Object.entries(isFields(headers) ? headers : {}).map(([key, value]) => ({
            key,
            value: holdsCredential(key)
              ? entry.secret(`header ${key}`, textOf(value))
              : textOf(value),
          })),
          template: config.text('body').includes('{{') ? null : config.text('body') || null,
        },
      },
    ],
    isReady: !hasPlaceholder,
  };
};

const sms =
  (name: string): Provider =>
  (config, entry) => {
    const number = config.text('to') || config.text('recipients');
    notCarriedKeys(
      ...([
        config,
        entry,
        config.names().filter((one) => !['to', 'recipients'].includes(one)),
      ] as const),
      'texts are sent through the provider of this installation',
    );
    return number === '' ? null : ready({ type: 'SMS', config: { name, number } });
  };

/** By the name of the provider; the others are reported. */
const providers: Readonly<Record<string, Provider>> = {
  email,
  slack: (config) => ready({ type: 'SLACK', config: { url: config.text('webhook-url') } }),
  discord: typedWebhook('Discord', 'WEBHOOK_DISCORD'),
  teams: typedWebhook('Teams', 'WEBHOOK_MSTEAMS'),
  'teams-workflows': typedWebhook('Teams workflow', 'WEBHOOK_MSTEAMS'),
  pagerduty: (config) =>
    ready({ type: 'PAGERDUTY', config: { serviceKey: config.text('integration-key') } }),
  opsgenie,
  custom,
  twilio: sms('Twilio'),
  vonage: sms('Vonage'),
  plivo: sms('Plivo'),
  messagebird: sms('MessageBird'),
};

/** Providers whose channels hold a credential themselves. */
const keeping = new Set(['slack', 'discord', 'teams', 'teams-workflows', 'pagerduty', 'opsgenie']);

export interface EndpointAlerts {
  alertSettings: Record<string, unknown>;
  description: string;
  subscribe(check: Ref): void;
}

const defaults = { enabled: true, 'failure-threshold': 3, 'success-threshold': 2 };

export class Alerting {
  readonly #plan: Plan;
  readonly #providers: Fields;
  readonly #channels: Channels;
  readonly #made = new Map<string, { entry: Entry; provided: Provided | null }>();

  constructor(plan: Plan, alerting: unknown) {
    this.#plan = plan;
    this.#providers = isFields(alerting) ? alerting : {};
    this.#channels = new Channels(plan);
  }

  #configOf(type: string): Fields | null {
    const config = lookUp(this.#providers, type);
    return isFields(config) ? config : null;
  }

  /** The provider with the override of a group and of an alert, made once. */
  #provide(type: string, group: string, override: Fields, owner: string) {
    const config = this.#configOf(type) ?? {};
    const { overrides, 'default-alert': _default, ...own } = config;
    const ofGroup = (Array.isArray(overrides) ? overrides : [])
      .filter(isFields)
      .find((one) => one['group'] === group);
    const { group: _group, ...changes } = ofGroup ?? {};
    const isOwn = Object.keys(override).length > 0;
    const id = [
      ...['alert', type],
      ...(ofGroup === undefined ? [] : [slug(group)]),
      ...(isOwn ? [owner] : []),
    ].join('-');
    const known = this.#made.get(id);
    if (known !== undefined) return { id, ...known };
    const name = ofGroup === undefined ? type : `${type} of ${group}`;
    const entry = this.#plan.entry('alerting', id, name, config);
    const source = new SourceObject({ ...own, ...changes, ...override });
    const provider = lookUp(providers, type);
    const provided = provider?.(source, entry) ?? null;
    if (provided === null) {
      const keys = source.names().map((key) => `\`${key}\``);
      entry.notCarried(
        `channel \`${type}\` has no counterpart; it has ${keys.join(', ') || 'no fields'}. Nothing was created`,
      );
    } else {
      entry.leftovers(source, { title: '`title`: messages have their own look here' });
      if (keeping.has(type)) this.#plan.channelSecrets += 1;
    }
    const made = { entry, provided };
    this.#made.set(id, made);
    return { id, ...made };
  }

  /** What the alerts of an endpoint become, which runs every `hereSeconds`. */
  of(
    entry: Entry,
    owner: string,
    group: string,
    alerts: readonly unknown[],
    intervalSeconds: number,
    hereSeconds: number,
  ): EndpointAlerts {
    const subscriptions: { id: string; body: ChannelBody; activated: boolean }[] = [];
    const thresholds: number[] = [];
    const reminders: number[] = [];
    let description = '';
    for (const given of alerts.filter(isFields)) {
      const type = textOf(given['type'] ?? '');
      const config = this.#configOf(type);
      if (config === null) {
        entry.notCarried(
          `alert \`${type}\`: \`alerting\` has no such provider, so nothing is sent there either`,
        );
        continue;
      }
      const standard = config['default-alert'];
      const alert = new SourceObject(
        { ...(isFields(standard) ? standard : {}), ...given },
        defaults,
      );
      alert.get('type');
      const override = alert.get('provider-override');
      const { id, provided } = this.#provide(
        type,
        group,
        isFields(override) ? override : {},
        owner,
      );
      const failureThreshold = alert.number('failure-threshold', 3);
      const reminder = goDuration(alert.get('minimum-reminder-interval')) ?? 0;
      if (reminder > 0) reminders.push(reminder);
      description ||= alert.text('description');
      if (description !== alert.text('description') && alert.has('description')) {
        entry.notCarried(
          `\`description\` of its alert by \`${type}\`: a check has one description`,
        );
      }
      const successes = alert.number('success-threshold', 2);
      if (successes > 1) {
        this.#plan.say(
          'CHANGED',
          `Alerts recover after ${successes} successes (\`success-threshold\`) → with the first pass.`,
        );
      }
      const sendRecovery = alert.flag('send-on-resolved');
      const isOn = alert.flag('enabled');
      // One that is switched off says nothing about when to alert.
      if (provided !== null && isOn) thresholds.push(failureThreshold);
      entry.leftovers(alert);
      for (const body of provided?.bodies ?? []) {
        const address = body.type === 'EMAIL' ? `-${slug(textOf(body.config['address']))}` : '';
        subscriptions.push({
          id: `${id}${address}${sendRecovery ? '' : '-without-recovery'}`,
          body: { ...body, sendRecovery },
          activated: isOn && provided?.isReady === true,
        });
      }
    }
    const failures = thresholds.length === 0 ? 1 : Math.min(...thresholds);
    if (new Set(thresholds).size > 1) {
      entry.changed(`alerts after ${thresholds.join(' and ')} failures → all after ${failures}`);
    }
    const threshold = thresholdFor(failures, intervalSeconds, hereSeconds);
    if (threshold.change !== null) entry.changed(threshold.change);
    const reminded = remindersFor(reminders.length === 0 ? 0 : Math.min(...reminders));
    if (reminded.change !== null) entry.changed(reminded.change);
    if (new Set(reminders).size > 1) entry.changed('several reminder intervals → the shortest');
    return {
      alertSettings: { ...threshold.escalation, reminders: reminded.reminders },
      description,
      subscribe: (check) => {
        for (const { id, body, activated } of subscriptions) {
          this.#channels.subscribe(check, id, body, activated);
        }
      },
    };
  }

  /** Providers that no alert uses. */
  reportUnused(): void {
    const used = [...this.#made.keys()];
    for (const type of Object.keys(this.#providers)) {
      if (used.some((id) => id === `alert-${type}` || id.startsWith(`alert-${type}-`))) continue;
      this.#plan
        .entry('alerting', type, type, this.#configOf(type))
        .notCarried('no endpoint uses this provider. Nothing was created');
    }
  }
}
