/** Who is told that a certificate expires: once per channel and certificate, and once it has expired. */
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

/** What a channel was told last about the certificate of a check. */
export interface CertificateNotice {
  channelId: number;
  expiresAt: number;
  stage: CertificateStage;
}

export interface Certificate {
  expiresAt: number;
  daysRemaining: number;
}

/** The same for all that is said about one certificate of a check. */
export function certificateKey(checkId: string, expiresAt: number): string {
  return `${checkId}/certificate/${expiresAt}`;
}

export function certificateStageOf({ expiresAt }: Certificate, now: number): CertificateStage {
  return expiresAt <= now ? 'EXPIRED' : 'EXPIRING';
}

/**
 * Each channel, and whether it is told now. 10 days remaining are told where the threshold is 11; again
 * only for another certificate, or when the one that was announced has expired.
 */
export function certificateAddressees(
  channels: readonly WatchingChannel[],
  notices: readonly CertificateNotice[],
  certificate: Certificate,
  now: number,
): Addressee[] {
  const stage = certificateStageOf(certificate, now);
  const told = new Map(notices.map((notice) => [notice.channelId, notice]));
  const reasonOf = (channel: WatchingChannel): ChannelReason => {
    if (!channel.activated) return 'SUBSCRIPTION_OFF';
    if (!channel.sslExpiry) return 'CERTIFICATES_OFF';
    if (certificate.daysRemaining >= channel.sslExpiryThreshold) return 'NOT_YET';
    const notice = told.get(channel.id);
    if (notice?.expiresAt !== certificate.expiresAt) return 'WANTED';
    return stage === 'EXPIRED' && notice.stage === 'EXPIRING' ? 'WANTED' : 'ALREADY_TOLD';
  };
  return channels.map((channel) => ({
    id: channel.id,
    type: channel.type,
    reason: reasonOf(channel),
  }));
}
