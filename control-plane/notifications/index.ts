/** What other modules may use. */
export {
  alertActions,
  alertLinkPath,
  AlertLinks,
  alertTargets,
  linkSnoozeMs,
  type AlertLink,
} from './alert-links.ts';
export { alertMail } from './alert-mail.ts';
export { brokenTemplate } from './channels/webhook.ts';
export { withoutSlackApp } from './channels/slack-app.ts';
export { pruneSlackMessages } from './slack-messages.ts';
export { startOutboxSender } from './outbox-sender.ts';
export { OutboxSignal, wakeOutbox } from './outbox-signal.ts';
export { abandonNotifications, freeStrandedRows, moveClaims } from './outbox-rows.ts';
export type {
  AgentHealthFacts,
  AlertFacts,
  GroupedCheck,
  GroupFacts,
  LocationFacts,
  Mail,
  RecentRun,
} from './facts.ts';
export { linkToCheck, linkToResult } from './links.ts';
export { locationName } from './message.ts';
export {
  dropMailsOfPage,
  dropSubscriberMails,
  enqueueAlert,
  enqueueForChannel,
  enqueueMails,
  isRecorded,
  pruneAlertNotifications,
  type QueuedMail,
  recordAlert,
} from './outbox.ts';
export { personLinkMail } from './subscriber-mails/person-link-mail.ts';
export {
  buttonStyle,
  hostOf,
  inFrame,
  smallStyle,
  toLines,
} from './subscriber-mails/mail-layout.ts';
export { keepsOpen } from './channels/index.ts';
