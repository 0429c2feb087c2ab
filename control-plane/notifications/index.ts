/** What other modules may use. */
export {
  type AlertAction,
  alertActions,
  alertLinkPath,
  AlertLinks,
  isActionOf,
  alertTargets,
  linkSnoozeMs,
  type AlertLink,
  type LinkRecipient,
} from './alert-links.ts';
export { addressRule } from './allowed-addresses.ts';
export { alertMail, mailTo } from './alert-mail.ts';
export {
  openOutgoing,
  type OutgoingAnswer,
  OutgoingError,
  type OutgoingRequest,
  type Send,
} from './outgoing.ts';
export { accountsWithoutChannels, withoutChannels } from './deliver.ts';
export { messagesOfAgents, problemOfAgents } from './by-agents.ts';
export { brokenField } from './channels/webhook.ts';
export { withoutSlackApp } from './channels/slack-app.ts';
export { pruneSlackMessages } from './slack-messages.ts';
export { startOutboxSender, type WebhookConsumer } from './outbox-sender.ts';
export { OutboxSignal, wakeOutbox } from './outbox-signal.ts';
export { abandonNotifications, freeStrandedRows, moveClaims } from './outbox-rows.ts';
export type {
  AgentHealthFacts,
  AlertFacts,
  AlsoFailing,
  GroupedCheck,
  GroupFacts,
  LocationFacts,
  Mail,
  RecentRun,
  ReportFacts,
  SubscriberRequest,
} from './facts.ts';
export { linkToCheck, linkToResult, linkToTestSession } from './links.ts';
export { locationName, messageOf, slowness } from './message.ts';
export { count, durationText, instantText } from './phrases.ts';
export {
  dropMessagesOfPage,
  dropSubscriberMessages,
  enqueueAlert,
  enqueueForChannel,
  enqueueMessages,
  isRecorded,
  pruneAlertNotifications,
  type QueuedMessage,
  recordAlert,
} from './outbox.ts';
export {
  addDevice,
  type DeviceRow,
  enqueueDeviceTest,
  listDevices,
  pushesTo,
  pushKeys,
  removeDevice,
} from './push-devices.ts';
export { outcomeOfTest } from './test-outcome.ts';
export { personLinkMail } from './subscriber-mails/person-link-mail.ts';
export {
  buttonStyle,
  hostOf,
  inFrame,
  smallStyle,
  toLines,
} from './subscriber-mails/mail-layout.ts';
export { keepsOpen } from './channels/index.ts';
