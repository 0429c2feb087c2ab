/** Links in mails to subscribers. */
import type { RowOf } from '../../db/tables.ts';
import { publicAddressOf } from '../decide/status-page-address.ts';

type Page = Pick<RowOf<'status_pages'>, 'url' | 'custom_domain'>;

export function addressOf(page: Page, publicUrl: string): string {
  return publicAddressOf({ url: page.url, customDomain: page.custom_domain }, publicUrl);
}

export function verifyLink(pageAddress: string, token: string): string {
  return `${pageAddress}/subscriptions/verify?token=${token}`;
}

export function unsubscribeLink(pageAddress: string, token: string): string {
  return `${pageAddress}/subscriptions/unsubscribe?token=${token}`;
}

export function incidentLink(pageAddress: string, incidentId: string): string {
  return `${pageAddress}/incidents/${incidentId}`;
}
