/** What alerts may have in common, from what is known of one of them. */

import { type CauseKind, causeKinds } from '@monitor/shared/contract/alert-group.ts';

export interface Cause {
  kind: CauseKind;
  /** Display name of the thing: a host, a location, a group, a tag. */
  name: string;
}

/** 0 for the kind that explains most. */
export function rankOf({ kind }: Cause): number {
  return causeKinds.indexOf(kind);
}

export function keyOfCause({ kind, name }: Cause): string {
  return `${kind}/${name}`;
}

export interface KnownOfAlert {
  /** The failure in one line. */
  error: string | null;
  /** Display name of the location of the run; null without a run. */
  location: string | null;
  /** The location was overloaded during the run. */
  isOverloaded: boolean;
  /** The host that the check asks. */
  host: string | null;
  /** The host whose certificate the alert is about. */
  certificateOf: string | null;
  groupName: string | null;
  tags: readonly string[];
}

/** Agents end the text of a network error with its code: `the connection was refused: a:80 (ECONNREFUSED)`. */
const codeAtEnd = /\(([A-Z][A-Z0-9_]{2,})\)\s*$|\b(E[A-Z_]{4,})\b/;
const resolverCodes = new Set(['EAI_AGAIN', 'ENOTFOUND', 'ESERVFAIL', 'ETIMEOUT', 'ENODATA']);
const nextHopCodes = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN']);
const certificateCodes = /CERT|SIGNATURE|ERR_TLS|ISSUER/;
const maxTags = 20;

/** The possible causes of an alert, from the one that explains most. */
export function causesOf(alert: KnownOfAlert): Cause[] {
  const { error, location, isOverloaded, host, certificateOf, groupName, tags } = alert;
  const found: Cause[] = [];
  const add = (kind: CauseKind, name: string | null): void => {
    if (name !== null && name !== '') found.push({ kind, name });
  };
  const [, atEnd, within] = codeAtEnd.exec(error ?? '') ?? [];
  const code = atEnd ?? within ?? '';
  if (isOverloaded) add('location', location);
  if (nextHopCodes.has(code)) add('next-hop', location);
  if (resolverCodes.has(code)) add('resolver', location);
  add('certificate', certificateOf ?? (certificateCodes.test(code) ? host : null));
  add('host', host);
  if (code !== '' && location !== null) add('network', `${code} in ${location}`);
  add('group', groupName);
  for (const tag of [...new Set(tags)].slice(0, maxTags)) add('tag', tag);
  return found;
}

const nouns: Record<CauseKind, (name: string) => string> = {
  location: (name) => `the overloaded location ${name}`,
  'next-hop': (name) => `the network of the location ${name}`,
  resolver: (name) => `the resolver of the location ${name}`,
  certificate: (name) => `the certificate of ${name}`,
  host: (name) => `the host ${name}`,
  network: (name) => `the error ${name}`,
  group: (name) => `the group ${name}`,
  tag: (name) => `the tag ${name}`,
};

/** `the host api.shop.example`. */
export function causeText({ kind, name }: Cause): string {
  return nouns[kind](name);
}
