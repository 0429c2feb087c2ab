/** What other modules may use. */
export { brokenTemplate } from './channels/webhook.ts';
export { startOutboxSender } from './outbox-sender.ts';
export { OutboxSignal, wakeOutbox } from './outbox-signal.ts';
export { abandonNotifications, freeStrandedRows, moveClaims } from './outbox-rows.ts';
export type { AlertFacts, AgentHealthFacts, LocationFacts, RecentRun } from './facts.ts';
export { locationName } from './message.ts';
export {
  dropMailsOfPage,
  dropSubscriberMails,
  enqueueAlert,
  enqueueForChannel,
  enqueueSubscriberMails,
  pruneAlertNotifications,
  type SubscriberMail,
} from './outbox.ts';
export { incidentMail } from './subscriber-mails/incident-mail.ts';
export { verificationMail } from './subscriber-mails/verification-mail.ts';
export { keepsOpen } from './channels/index.ts';
