/** Notifications of Uptime Kuma: the providers that have a channel here, by the text of `config.type`. */
import * as channels from '../channels.ts';
import type { Entry } from '../plan.ts';
import type { SourceObject } from '../source-object.ts';
import { pairsOf } from './monitor-types.ts';

/** The channels of a notification: several for a list of mail addresses; null where it cannot exist. */
type Provider = (config: SourceObject, entry: Entry, name: string) => channels.ChannelBody[] | null;

const ofServer = [
  ...['smtpHost', 'smtpPort', 'smtpSecure', 'smtpUsername', 'smtpPassword', 'smtpFrom'],
  ...['smtpIgnoreTLSError', 'smtpIgnoreSTARTTLS', 'smtpDkimDomain', 'smtpDkimKeySelector'],
  ...['smtpDkimPrivateKey', 'smtpDkimHashAlgo', 'smtpDkimheaderFieldNames'],
  ...['smtpDkimskipFields', 'smtpAdditionalHeaders'],
];

const smtp: Provider = (config, entry) => {
  const ofText = ['customSubject', 'customBody', 'htmlBody'];
  channels.notCarriedKeys(config, entry, ofServer, channels.ofMailServer);
  channels.notCarriedKeys(config, entry, ofText, 'mails have their own text here');
  return channels.emails(...['smtpTo', 'smtpCC', 'smtpBCC'].map((key) => config.text(key)));
};

const slack =
  (urlKey: string, channelKey: string, ofLook: readonly string[], product?: string): Provider =>
  (config, entry) => {
    channels.notCarriedKeys(config, entry, ofLook, channels.ofLook);
    const like = `${product ?? ''} takes messages in the format of Slack: send a test alert`;
    entry.approximate(product !== undefined && like);
    return [channels.slack(config.text(urlKey), config.text(channelKey))];
  };

const webhook: Provider = (config, entry, name) => {
  const headers = pairsOf(config, entry, 'webhookAdditionalHeaders');
  const ofText = ['webhookCustomBody'];
  channels.notCarriedKeys(config, entry, ofText, 'templates are in another language here');
  const isForm = config.text('webhookContentType') === 'form-data';
  const body = isForm ? 'JSON instead of a form' : 'another body';
  entry.approximate(`the webhook posts ${body}: adapt what receives it`);
  const method = config.text('httpMethod').toUpperCase();
  const settings = {
    ...{ name, url: config.text('webhookURL') },
    method: ['GET', 'PUT', 'PATCH'].includes(method) ? method : 'POST',
    headers: channels.guardedHeaders(entry, headers),
  };
  return [{ type: 'WEBHOOK', config: settings }];
};

const typedWebhook =
  (urlKey: string, webhookType: string, ofLook: readonly string[]): Provider =>
  (config, entry, name) => {
    channels.notCarriedKeys(config, entry, ofLook, channels.ofLook);
    return [channels.typedWebhook(name, config.text(urlKey), webhookType)];
  };

const pagerDuty: Provider = (config, entry, serviceName) => {
  const url = config.text('pagerdutyIntegrationUrl');
  const autoResolve = config.text('pagerdutyAutoResolve');
  entry.notCarried(
    url !== '' &&
      !/^https:\/\/events\.pagerduty\.com\//.test(url) &&
      '`pagerdutyIntegrationUrl`: this installation has one events URL',
    !['', 'warning'].includes(config.text('pagerdutyPriority')) &&
      '`pagerdutyPriority`: the severity follows from the alert here',
  );
  const resolved = 'recovery acknowledges the incident → recovery resolves it';
  entry.changed(autoResolve === 'acknowledge' && resolved);
  const settings = { serviceName, serviceKey: config.text('pagerdutyIntegrationKey') };
  const sendRecovery = autoResolve !== '0' && autoResolve !== '';
  return [{ type: 'PAGERDUTY', config: settings, sendRecovery }];
};

const opsgenie: Provider = (config, _entry, name) => {
  const isEu = config.text('opsgenieRegion').toLowerCase() === 'eu';
  const priority = Math.min(5, Math.max(1, config.number('opsgeniePriority', 3)));
  return [channels.opsgenie(name, config.text('opsgenieApiKey'), isEu, `P${priority}`)];
};

/** Where the providers of text messages have the number. */
const smsNumbers = {
  ...{ twilio: 'twilioToNumber', clicksendsms: 'clicksendsmsToNumber', Elks: 'elksToNumber' },
  ...{ '46elks': 'elksToNumber', plivo: 'plivoToNumber', octopush: 'octopushPhoneNumber' },
  ...{ promosms: 'promosmsPhoneNumber', serwersms: 'serwersmsPhoneNumber', smsc: 'smscToNumber' },
  ...{ telnyx: 'telnyxToNumber', gtxmessaging: 'gtxMessagingTo', SMSEagle: 'smseagleRecipient' },
};
const smsProviders = Object.entries(smsNumbers).map(([type, key]): [string, Provider] => [
  type,
  (config, entry, name) => channels.sms(config, entry, [key], name),
]);

/** Providers by `config.type`; the others are reported. */
export const providers: Readonly<Record<string, Provider>> = {
  ...Object.fromEntries(smsProviders),
  ...{ smtp, webhook, PagerDuty: pagerDuty, Opsgenie: opsgenie },
  slack: slack('slackwebhookURL', 'slackchannel', [
    ...['slackusername', 'slackiconemo', 'slackbutton', 'slackrichmessage', 'slacktemplate'],
    ...['slackTemplate', 'slackUseTemplate', 'slackIncludeGroupName', 'slackchannelnotify'],
  ]),
  mattermost: slack(
    ...(['mattermostWebhookUrl', 'mattermostchannel'] as const),
    ['mattermostusername', 'mattermosticonemo', 'mattermosticonurl'],
    'Mattermost',
  ),
  'rocket.chat': slack(
    ...(['rocketwebhookURL', 'rocketchannel'] as const),
    ['rocketusername', 'rocketiconemo', 'rocketbutton'],
    'Rocket.Chat',
  ),
  discord: typedWebhook('discordWebhookUrl', 'WEBHOOK_DISCORD', [
    ...['discordUsername', 'discordPrefixMessage', 'discordChannelType', 'threadId', 'postName'],
    ...['disableUrl', 'discordMessageFormat', 'discordMessageTemplate'],
    ...['discordUseMessageTemplate', 'discordSuppressNotifications'],
  ]),
  teams: typedWebhook('webhookUrl', 'WEBHOOK_MSTEAMS', ['teamsEnableTags']),
};
