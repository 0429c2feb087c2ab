/**
 * Who is notified about an expiring certificate: once per channel and certificate, and once more
 * when it has expired.
 */
import type { Addressee, ChannelReason } from './channels.ts';

export type CertificateStage = 'EXPIRING' | 'EXPIRED';

export interface WatchingChannel {
  id: number;
  type: string;
  activated: boolean;
  sslExpiry: boolean;
  /** Days. */
  sslExpiryThreshold: number;
}

/** The last notification of a channel about the certificate of a check. */
export interface CertificateNotification {
  channelId: number;
  expiresAt: number;
  stage: CertificateStage;
}

export interface Certificate {
  expiresAt: number;
  daysRemaining: number;
}

/** Deduplication key of all notifications about one certificate of a check. */
export function certificateKey(checkId: string, expiresAt: number): string {
  return `${checkId}/certificate/${expiresAt}`;
}

export function certificateStageOf({ expiresAt }: Certificate, now: number): CertificateStage {
  return expiresAt <= now ? 'EXPIRED' : 'EXPIRING';
}

/**
 * Each channel, and whether it is notified now. A threshold of 11 days notifies at 10 remaining
 * days. The channel is notified again only for another certificate, or once this one has expired.
 */
export function certificateAddressees(
  channels: readonly WatchingChannel[],
  notices: readonly CertificateNotification[],
  certificate: Certificate,
  now: number,
): Addressee[] {
  const stage = certificateStageOf(certificate, now);
  const notified = new Map(notices.map((notice) => [notice.channelId, notice]));
  const reasonOf = (channel: WatchingChannel): ChannelReason => {
    if (!channel.activated) return 'SUBSCRIPTION_OFF';
    if (!channel.sslExpiry) return 'CERTIFICATES_OFF';
    if (certificate.daysRemaining >= channel.sslExpiryThreshold) return 'NOT_YET';
    const notice = notified.get(channel.id);
    if (notice?.expiresAt !== certificate.expiresAt) return 'WANTED';
    return stage === 'EXPIRED' && notice.stage === 'EXPIRING' ? 'WANTED' : 'ALREADY_TOLD';
  };
  return channels.map((channel) => ({
    id: channel.id,
    type: channel.type,
    reason: reasonOf(channel),
  }));
}
