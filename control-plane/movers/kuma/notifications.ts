/** Notifications of Uptime Kuma: the providers that have a channel here, by the text of `config.type`. */
import {
  addresses,
  notCarriedKeys,
  smsBody,
  typedWebhook,
  webhookHeaders,
  type ChannelBody,
} from '../channels.ts';
import type { Entry } from '../plan.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { parsedJson, type SourceObject, textOf } from '../source-object.ts';

/** The channels of a notification: several for a list of mail addresses; null where it cannot exist. */
type Provider = (config: SourceObject, entry: Entry, name: string) => ChannelBody[] | null;

const smtp: Provider = (config, entry) => {
  const to = ['smtpTo', 'smtpCC', 'smtpBCC'].flatMap((key) => addresses(config.text(key)));
  notCarriedKeys(
    config,
    entry,
    [
      ...['smtpHost', 'smtpPort', 'smtpSecure', 'smtpUsername', 'smtpPassword', 'smtpFrom'],
      ...['smtpIgnoreTLSError', 'smtpIgnoreSTARTTLS', 'smtpDkimDomain', 'smtpDkimKeySelector'],
      ...['smtpDkimPrivateKey', 'smtpDkimHashAlgo', 'smtpDkimheaderFieldNames'],
      ...['smtpDkimskipFields', 'smtpAdditionalHeaders'],
    ],
    'mail is sent through the mail server of this installation',
  );
  notCarriedKeys(
    config,
    entry,
    ['customSubject', 'customBody', 'htmlBody'],
    'mails have their own text here',
  );
  return [...new Set(to)].map((address) => ({ type: 'EMAIL', config: { address } }));
};

const slackLike =
  (urlKey: string, channelKey: string, lost: readonly string[], product: string | null): Provider =>
  (config, entry) => {
    const channel = config.text(channelKey);
    notCarriedKeys(config, entry, lost, 'messages have their own look here');
    if (product !== null) {
      entry.approximate(`${product} takes messages in the format of Slack: send a test alert`);
    }
    return [
      {
        type: 'SLACK',
        config: { url: config.text(urlKey), ...(channel === '' ? {} : { channel }) },
      },
    ];
  };

/** Pairs of headers in a JSON text or an object. */
function headerPairs(given: unknown): [string, string][] | null {
  if (given === null || given === '') return [];
  const value = typeof given === 'string' ? parsedJson(given) : given;
  return isFields(value) ? Object.entries(value).map(([key, text]) => [key, textOf(text)]) : null;
}

const webhook: Provider = (config, entry, name) => {
  const pairs = headerPairs(config.get('webhookAdditionalHeaders'));
  if (pairs === null) entry.notCarried('`webhookAdditionalHeaders` is not a JSON object');
  const method = config.text('httpMethod').toUpperCase() || 'POST';
  const contentType = config.text('webhookContentType');
  notCarriedKeys(config, entry, ['webhookCustomBody'], 'templates are in another language here');
  entry.approximate(
    `the webhook posts ${contentType === 'form-data' ? 'JSON instead of a form' : 'another body'}: adapt what receives it`,
  );
  return [
    {
      type: 'WEBHOOK',
      config: {
        name,
        url: config.text('webhookURL'),
        method: ['GET', 'POST', 'PUT', 'PATCH'].includes(method) ? method : 'POST',
        headers: webhookHeaders(entry, pairs ?? []),
      },
    },
  ];
};

const webhookOf =
  (urlKey: string, webhookType: string, lost: readonly string[]): Provider =>
  (config, entry, name) => {
    notCarriedKeys(config, entry, lost, 'messages have their own look here');
    return [typedWebhook(name, config.text(urlKey), webhookType)];
  };

const pagerDuty: Provider = (config, entry, name) => {
  const url = config.text('pagerdutyIntegrationUrl');
  if (url !== '' && !/^https:\/\/events\.pagerduty\.com\//.test(url)) {
    entry.notCarried('`pagerdutyIntegrationUrl`: this installation has one events URL');
  }
  if (config.text('pagerdutyPriority') !== '' && config.text('pagerdutyPriority') !== 'warning') {
    entry.notCarried('`pagerdutyPriority`: the severity follows from the alert here');
  }
  const autoResolve = config.text('pagerdutyAutoResolve');
  if (autoResolve === 'acknowledge') {
    entry.changed('recovery acknowledges the incident → recovery resolves it');
  }
  return [
    {
      type: 'PAGERDUTY',
      config: { serviceName: name, serviceKey: config.text('pagerdutyIntegrationKey') },
      sendRecovery: autoResolve !== '0' && autoResolve !== '',
    },
  ];
};

const opsgenie: Provider = (config, _entry, name) => [
  {
    type: 'OPSGENIE',
    config: {
      ...{ name, apiKey: config.text('opsgenieApiKey') },
      region: config.text('opsgenieRegion').toLowerCase() === 'eu' ? 'EU' : 'US',
      priority: `P${Math.min(5, Math.max(1, config.number('opsgeniePriority', 3)))}`,
    },
  },
];

const sms =
  (numberKey: string): Provider =>
  (config, entry, name) => {
    const body = smsBody(config, entry, [numberKey], name);
    return body && [body];
  };

/** Providers by `config.type`; the others are reported. */
export const providers: Readonly<Record<string, Provider>> = {
  smtp,
  slack: slackLike(
    'slackwebhookURL',
    'slackchannel',
    [
      ...['slackusername', 'slackiconemo', 'slackbutton', 'slackrichmessage', 'slacktemplate'],
      ...['slackTemplate', 'slackUseTemplate', 'slackIncludeGroupName', 'slackchannelnotify'],
    ],
    null,
  ),
  mattermost: slackLike(
    'mattermostWebhookUrl',
    'mattermostchannel',
    ['mattermostusername', 'mattermosticonemo', 'mattermosticonurl'],
    'Mattermost',
  ),
  'rocket.chat': slackLike(
    'rocketwebhookURL',
    'rocketchannel',
    ['rocketusername', 'rocketiconemo', 'rocketbutton'],
    'Rocket.Chat',
  ),
  webhook,
  discord: webhookOf('discordWebhookUrl', 'WEBHOOK_DISCORD', [
    ...['discordUsername', 'discordPrefixMessage', 'discordChannelType', 'threadId', 'postName'],
    ...['disableUrl', 'discordMessageFormat', 'discordMessageTemplate'],
    ...['discordUseMessageTemplate', 'discordSuppressNotifications'],
  ]),
  teams: webhookOf('webhookUrl', 'WEBHOOK_MSTEAMS', ['teamsEnableTags']),
  PagerDuty: pagerDuty,
  Opsgenie: opsgenie,
  twilio: sms('twilioToNumber'),
  clicksendsms: sms('clicksendsmsToNumber'),
  Elks: sms('elksToNumber'),
  '46elks': sms('elksToNumber'),
  plivo: sms('plivoToNumber'),
  octopush: sms('octopushPhoneNumber'),
  promosms: sms('promosmsPhoneNumber'),
  serwersms: sms('serwersmsPhoneNumber'),
  smsc: sms('smscToNumber'),
  telnyx: sms('telnyxToNumber'),
  gtxmessaging: sms('gtxMessagingTo'),
  SMSEagle: sms('smseagleRecipient'),
};
