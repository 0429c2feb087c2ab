/** Opens the transports of channels from the settings. */
import type { Config } from '../core/config.ts';
import type { Services } from '../core/services.ts';
import { addressRule } from './allowed-addresses.ts';
import type { PhoneService } from './channel.ts';
import type { SharedTransports } from './deliver.ts';
import { openMailer } from './mailer.ts';
import { openOutgoing, type Resolve } from './outgoing.ts';
import { SlackApp } from './slack-app.ts';

export type NotifySettings = Pick<
  Config,
  | 'SMTP_URL'
  | 'MAIL_FROM'
  | 'PHONE_API_URL'
  | 'PHONE_ACCOUNT_SID'
  | 'PHONE_AUTH_TOKEN'
  | 'PHONE_FROM_NUMBER'
  | 'PAGERDUTY_EVENTS_URL'
  | 'OPSGENIE_API_URL'
  | 'SLACK_APP_TOKEN'
  | 'SLACK_API_URL'
  | 'OPERATOR_CHANNEL_ACCOUNTS'
  | 'OUTGOING_ALLOWED_NETWORKS'
  | 'SUBSCRIBER_ALLOWED_NETWORKS'
>;

function phoneOf(config: NotifySettings): PhoneService | { missing: string[] } {
  const { PHONE_ACCOUNT_SID, PHONE_AUTH_TOKEN, PHONE_FROM_NUMBER } = config;
  const needed = { PHONE_ACCOUNT_SID, PHONE_AUTH_TOKEN, PHONE_FROM_NUMBER };
  const missing = Object.entries(needed).flatMap(([name, value]) => (value ? [] : [name]));
  if (missing.length > 0) return { missing };
  return {
    url: config.PHONE_API_URL,
    accountSid: PHONE_ACCOUNT_SID ?? '',
    authToken: PHONE_AUTH_TOKEN ?? '',
    from: PHONE_FROM_NUMBER ?? '',
  };
}

/** Opens mailer and HTTP clients. Throws for invalid settings. */
export function openTransports({
  config,
  services,
  signal,
  resolve,
}: {
  config: NotifySettings;
  services: Pick<Services, 'publicUrl' | 'clock' | 'random' | 'newId'>;
  signal: AbortSignal;
  resolve?: Resolve;
}): SharedTransports & AsyncDisposable {
  const { publicUrl, clock, random, newId } = services;
  const outgoing = openOutgoing({
    customer: addressRule(config.OUTGOING_ALLOWED_NETWORKS),
    visitor: addressRule(config.SUBSCRIBER_ALLOWED_NETWORKS, 'SUBSCRIBER_ALLOWED_NETWORKS'),
    ...(resolve === undefined ? {} : { resolve }),
  });
  const mailer =
    config.SMTP_URL === undefined
      ? null
      : openMailer({ url: config.SMTP_URL, from: config.MAIL_FROM });
  const { SLACK_APP_TOKEN: token, SLACK_API_URL: apiUrl } = config;
  return {
    outgoing,
    slackApp:
      token === undefined ? null : new SlackApp({ token, apiUrl }, outgoing.operator, clock),
    mailer,
    phone: phoneOf(config),
    pagerDutyUrl: config.PAGERDUTY_EVENTS_URL,
    opsgenieUrl: config.OPSGENIE_API_URL ?? null,
    operatorChannelAccounts: config.OPERATOR_CHANNEL_ACCOUNTS,
    publicUrl,
    clock,
    random,
    newId,
    signal,
    async [Symbol.asyncDispose]() {
      mailer?.close();
      await outgoing[Symbol.asyncDispose]();
    },
  };
}
